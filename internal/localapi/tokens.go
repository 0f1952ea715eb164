package localapi

import (
	"strings"
	"time"

	"capd/internal/access"
	"capd/internal/document"
)

func (s *Server) tokens(c call) (any, error) {
	if _, err := query(c.Request); err != nil {
		return nil, err
	}
	return map[string][]access.Token{"tokens": list(s.Tokens.List())}, nil
}

func (s *Server) createToken(c call) (any, error) {
	var req TokenRequest
	if err := body(c.Request, required(req.take, "name", "roles")); err != nil {
		return nil, err
	}
	spec := access.TokenSpec{Name: req.Name, Roles: req.Roles, Scopes: req.Scopes, Profile: req.Profile, Tenant: req.Tenant, NoExpiry: req.NoExpiry}
	if req.TTL != "" {
		ttl, err := time.ParseDuration(req.TTL)
		if err != nil {
			return nil, problem(BadRequest, "write it in hours, such as 720h for 30 days", "ttl %q is no duration", clip(req.TTL))
		}
		spec.TTL = ttl
	}
	if _, err := findProfile(s.Snapshots.Snapshot(), req.Profile); err != nil {
		return nil, err
	}
	secret, token, err := s.Tokens.Create(spec)
	if err != nil {
		return nil, err
	}
	s.note(c, "create_token", change{Target: token.ID, Owner: token.Name, Now: "roles " + strings.Join(token.Roles, ", ") + "; scopes " + strings.Join(token.Scopes, ", ")})
	return NewToken{Secret: secret, Token: token}, nil
}

func (r *TokenRequest) take(m *document.Map) {
	r.Name, r.Roles, r.Scopes, r.Profile, r.Tenant = m.String("name"), m.Strings("roles"), m.Strings("scopes"), m.String("profile"), m.String("tenant")
	r.TTL, r.NoExpiry = m.String("ttl"), m.Bool("no_expiry")
}

func (s *Server) revokeToken(c call) (any, error) {
	id := ""
	take := func(m *document.Map) { id = m.String("id") }
	if err := body(c.Request, required(take, "id")); err != nil {
		return nil, err
	}
	token, err := s.Tokens.Revoke(id)
	if err != nil {
		return nil, err
	}
	s.note(c, "revoke_token", change{Target: token.ID, Owner: token.Name})
	return map[string]access.Token{"token": token}, nil
}
