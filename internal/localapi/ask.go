package localapi

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"capd/internal/access"
	"capd/internal/health"
	"capd/internal/invoke"
)

// callTime is how long a call may take to be answered: the daemon answers pending before that.
const callTime = 15 * time.Minute

// Status is the state of the box.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return get[Status](ctx, c, "/v1/status")
}

// Recent lists the latest ended calls, newest first.
func (c *Client) Recent(ctx context.Context, limit int) ([]Outcome, error) {
	doc, err := get[struct{ Recent []Outcome }](ctx, c, "/v1/recent?limit="+strconv.Itoa(limit))
	return doc.Recent, err
}

// Assets lists the assets.
func (c *Client) Assets(ctx context.Context) ([]Asset, error) {
	doc, err := get[struct{ Assets []Asset }](ctx, c, "/v1/assets")
	return doc.Assets, err
}

// Asset is one asset with its points and their last readings.
func (c *Client) Asset(ctx context.Context, id string) (Asset, error) {
	return get[Asset](ctx, c, "/v1/assets/"+url.PathEscape(id))
}

// Read reads ASSET.point, or all points of ASSET, afresh.
func (c *Client) Read(ctx context.Context, ref string) (Readings, error) {
	return get[Readings](ctx, c, "/v1/points/"+url.PathEscape(ref))
}

// Tools lists the tools that the caller may see.
func (c *Client) Tools(ctx context.Context) ([]Tool, error) {
	doc, err := get[struct{ Tools []Tool }](ctx, c, "/v1/tools")
	return doc.Tools, err
}

// FindRequest is a search for tools.
type FindRequest struct {
	Query   string
	Explain bool   // say why each is there, and what the policy removed
	Limit   int    // 0: the usual number
	Profile string // search as an agent of this profile would; may be empty
}

// Find searches for tools.
func (c *Client) Find(ctx context.Context, f FindRequest) (Found, error) {
	q := url.Values{"q": {f.Query}}
	if f.Explain {
		q.Set("explain", "1")
	}
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	if f.Profile != "" {
		q.Set("profile", f.Profile)
	}
	return get[Found](ctx, c, "/v1/tools/find?"+q.Encode())
}

// Call runs one call and waits for its answer.
func (c *Client) Call(ctx context.Context, req CallRequest) (invoke.Answer, error) {
	var answer invoke.Answer
	err := c.do(ctx, "POST", "/v1/call", req, callTime, &answer)
	return answer, err
}

// Explain tells everything known of a call. It waits up to wait, of at most a minute, for a verdict that is pending.
func (c *Client) Explain(ctx context.Context, id string, wait time.Duration) (invoke.Record, error) {
	var record invoke.Record
	seconds := min(int(wait.Round(time.Second)/time.Second), maxWait)
	err := c.get(ctx, "/v1/explain/"+url.PathEscape(id)+"?wait_s="+strconv.Itoa(seconds), wait, &record)
	return record, err
}

// Alarms lists the active alarms, newest first.
func (c *Client) Alarms(ctx context.Context) ([]health.Alarm, error) {
	return c.alarms(ctx, "/v1/alarms")
}

// AllAlarms lists the active alarms and those that were cleared and are still on record, newest first.
func (c *Client) AllAlarms(ctx context.Context) ([]health.Alarm, error) {
	return c.alarms(ctx, "/v1/alarms?all=1")
}

func (c *Client) alarms(ctx context.Context, path string) ([]health.Alarm, error) {
	doc, err := get[struct{ Alarms []health.Alarm }](ctx, c, path)
	return doc.Alarms, err
}

// ClearAlarm ends an active alarm, named by its key or its number, and gives it as it stood.
func (c *Client) ClearAlarm(ctx context.Context, key string) (health.Alarm, error) {
	doc, err := post[struct{ Alarm health.Alarm }](ctx, c, "/v1/alarms/clear", map[string]string{"key": key})
	return doc.Alarm, err
}

// Lock blocks an asset, or all assets at a place, in the caller's name.
func (c *Client) Lock(ctx context.Context, target, reason string) (Locked, error) {
	return post[Locked](ctx, c, "/v1/lock", map[string]string{"target": target, "reason": reason})
}

// Unlock lifts the caller's own lockout, or with an owner that person's, which only root may.
func (c *Client) Unlock(ctx context.Context, target, owner string) (Unlocked, error) {
	in := map[string]string{"target": target}
	if owner != "" {
		in["force"] = owner
	}
	return post[Unlocked](ctx, c, "/v1/unlock", in)
}

// Arm consents to one call of a critical action within a time of at most an hour.
func (c *Client) Arm(ctx context.Context, action string, within time.Duration, reason string) (Armed, error) {
	return post[Armed](ctx, c, "/v1/arm", map[string]string{"action": action, "for": within.String(), "reason": reason})
}

// Disarm takes a consent back before it is used.
func (c *Client) Disarm(ctx context.Context, action string) (Armed, error) {
	return post[Armed](ctx, c, "/v1/disarm", map[string]string{"action": action})
}

// SetMode changes the mode: observe, shadow or active.
func (c *Client) SetMode(ctx context.Context, mode, reason string) (ModeChange, error) {
	return post[ModeChange](ctx, c, "/v1/mode", map[string]string{"mode": mode, "reason": reason})
}

// Degrade takes a tool out of service.
func (c *Client) Degrade(ctx context.Context, tool, reason string) (ToolHealth, error) {
	return post[ToolHealth](ctx, c, "/v1/tools/"+url.PathEscape(tool)+"/degrade", map[string]string{"reason": reason})
}

// Restore puts a tool back into service. The reason may be empty.
func (c *Client) Restore(ctx context.Context, tool, reason string) (ToolHealth, error) {
	return post[ToolHealth](ctx, c, "/v1/tools/"+url.PathEscape(tool)+"/restore", map[string]string{"reason": reason})
}

// Settle says that a person has looked at an asset whose state was not known. The reason may be empty.
func (c *Client) Settle(ctx context.Context, asset, reason string) (Settled, error) {
	return post[Settled](ctx, c, "/v1/settle", map[string]string{"asset": asset, "reason": reason})
}

// CreateToken makes a token. Its TTL is rounded to seconds.
func (c *Client) CreateToken(ctx context.Context, spec access.TokenSpec) (NewToken, error) {
	req := TokenRequest{Name: spec.Name, Roles: spec.Roles, Scopes: spec.Scopes, Profile: spec.Profile, Tenant: spec.Tenant, NoExpiry: spec.NoExpiry}
	if spec.TTL != 0 {
		req.TTL = spec.TTL.Round(time.Second).String()
	}
	return post[NewToken](ctx, c, "/v1/tokens", req)
}

// Tokens lists every token on record, oldest first.
func (c *Client) Tokens(ctx context.Context) ([]access.Token, error) {
	doc, err := get[struct{ Tokens []access.Token }](ctx, c, "/v1/tokens")
	return doc.Tokens, err
}

// RevokeToken ends a token, named by its id or its name.
func (c *Client) RevokeToken(ctx context.Context, idOrName string) (access.Token, error) {
	doc, err := post[struct{ Token access.Token }](ctx, c, "/v1/tokens/revoke", map[string]string{"id": idOrName})
	return doc.Token, err
}

// Reload reads the folders again and says what changed.
func (c *Client) Reload(ctx context.Context) (Reloaded, error) {
	return post[Reloaded](ctx, c, "/v1/reload", struct{}{})
}

func get[T any](ctx context.Context, c *Client, path string) (T, error) {
	var out T
	err := c.get(ctx, path, 0, &out)
	return out, err
}

func post[T any](ctx context.Context, c *Client, path string, in any) (T, error) {
	var out T
	err := c.post(ctx, path, in, &out)
	return out, err
}
