package localapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/user"
	"slices"
	"strconv"
	"syscall"

	"capd/internal/access"
)

// peer is who holds the other end of a connection, as the kernel noted it when the connection was made.
type peer struct {
	uid, gid   uint32
	name       string
	technician bool
}

// root reports the one person who may lift other people's lockouts.
func (p peer) root() bool { return p.uid == 0 }

// viewer is the role of those at the box who are no technicians, if the policy has it.
const viewer = "viewer"

// subject is the peer as the corridor knows callers. Whoever has an account on the box may see all assets; reading them needs the
// role.
func (p peer) subject(policy access.Policy) access.Subject {
	s := access.Subject{ID: "uid:" + strconv.FormatUint(uint64(p.uid), 10), Name: p.name, Local: true, Technician: p.technician}
	if !p.technician {
		s.Scopes = []string{access.EveryScope}
		if policy.Has(viewer) {
			s.Roles = []string{viewer}
		}
	}
	return s
}

// people tells technicians from others.
type people struct {
	group    string // name of the technicians' group
	own      uint32 // the daemon's uid
	ownMayDo bool
}

// peerOf asks the kernel who connected. Groups are looked up for each connection, so that a change counts at the next one.
func (p people) peerOf(conn net.Conn) (peer, error) {
	cred, err := credentials(conn)
	if err != nil {
		return peer{}, err
	}
	who := peer{uid: cred.Uid, gid: cred.Gid, name: "uid:" + strconv.FormatUint(uint64(cred.Uid), 10)}
	account, err := user.LookupId(strconv.FormatUint(uint64(who.uid), 10))
	if err == nil {
		who.name = account.Username
	} else {
		account = nil // the box knows no such account; the uid is still who it is
	}
	who.technician = who.uid == 0 || p.ownMayDo && who.uid == p.own || p.inGroup(who, account)
	return who, nil
}

// RuleSetup is the rule of a warning about how the box itself is set up.
const RuleSetup = "setup"

// doubts is what may be wrong with how people are told apart: a group that the box does not know lets nobody in.
func (p people) doubts() []Problem {
	if p.group == "" || p.ownMayDo {
		return nil
	}
	if _, err := user.LookupGroup(p.group); err == nil {
		return nil
	}
	return []Problem{{File: "capd.yaml", Path: "technicians.group", Rule: RuleSetup, Warning: true,
		Message: fmt.Sprintf("this box has no group %s, so only root may change things here", p.group),
		Hint:    fmt.Sprintf("groupadd --system %s, or name a group of /etc/group", p.group)}}
}

// inGroup reports whether the peer's own gid or one of its account's groups is the technicians'. What cannot be looked up is a no.
func (p people) inGroup(who peer, account *user.User) bool {
	if p.group == "" {
		return false
	}
	group, err := user.LookupGroup(p.group)
	if err != nil {
		return false
	}
	if group.Gid == strconv.FormatUint(uint64(who.gid), 10) {
		return true
	}
	if account == nil {
		return false
	}
	groups, err := account.GroupIds()
	return err == nil && slices.Contains(groups, group.Gid)
}

// credentials reads SO_PEERCRED: uid, gid and pid of the process that connected or, seen from a client, that listens.
func credentials(conn net.Conn) (*syscall.Ucred, error) {
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("localapi: %s is no unix socket, so the kernel cannot say who calls", conn.LocalAddr())
	}
	raw, err := unix.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("localapi: peer credentials: %w", err)
	}
	var cred *syscall.Ucred
	var inner error
	err = raw.Control(func(fd uintptr) {
		cred, inner = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err := errors.Join(err, inner); err != nil {
		return nil, fmt.Errorf("localapi: peer credentials: %w", err)
	}
	return cred, nil
}

type peerKey struct{}

// introduced is what ConnContext leaves for the handlers of a connection.
type introduced struct {
	peer peer
	err  error
}

func withPeer(ctx context.Context, p peer, err error) context.Context {
	return context.WithValue(ctx, peerKey{}, introduced{p, err})
}

func peerFrom(ctx context.Context) (peer, error) {
	i, ok := ctx.Value(peerKey{}).(introduced)
	if !ok {
		return peer{}, errors.New("localapi: the connection was not introduced")
	}
	return i.peer, i.err
}
