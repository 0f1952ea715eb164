package localapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"capd/internal/access"
	"capd/internal/invoke"
	"capd/internal/localapi"
	"capd/internal/localapi/localtest"
	"capd/internal/outcome"
)

// asSocket tells this test binary that it is a caller of a socket under another uid, started by a test.
const asSocket = "CAPD_TEST_CALL_SOCKET"

func TestMain(m *testing.M) {
	if socket := os.Getenv(asSocket); socket != "" {
		if err := json.NewEncoder(os.Stdout).Encode(callAll(socket)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// tried is what somebody got who tried everything.
type tried struct {
	Caller      localapi.Caller
	Errors      map[string]*localapi.Error
	Reached     string // why the socket was not reached
	Read, Moved invoke.Answer
	SeesTools   bool
}

func callAll(socket string) tried {
	ctx, c, out := context.Background(), localapi.NewClient(socket), tried{Errors: map[string]*localapi.Error{}}
	defer c.Close()
	note := func(what string, err error) {
		if e, ok := errors.AsType[*localapi.Error](err); ok {
			out.Errors[what] = e
		} else if err != nil {
			out.Reached = err.Error()
		}
	}
	s, err := c.Status(ctx)
	note("status", err)
	out.Caller = s.Caller
	out.Read, err = c.Call(ctx, localapi.CallRequest{Action: "valve_status"})
	note("read", err)
	out.Moved, err = c.Call(ctx, opening(60))
	note("move", err)
	_, err = c.Explain(ctx, out.Moved.Invocation, 0)
	note("explain", err)
	tools, err := c.Tools(ctx)
	note("tools", err)
	out.SeesTools = len(tools) > 0
	for what, do := range map[string]func() error{
		"point":   func() error { return second(c.Read(ctx, localtest.Position)) },
		"lock":    func() error { return second(c.Lock(ctx, "PS07-FCV-04", "why")) },
		"unlock":  func() error { return second(c.Unlock(ctx, "PS07-FCV-04", "")) },
		"force":   func() error { return second(c.Unlock(ctx, "PS07-FCV-04", "wang")) },
		"mode":    func() error { return second(c.SetMode(ctx, "active", "why")) },
		"degrade": func() error { return second(c.Degrade(ctx, "set_discharge_valve", "why")) },
		"restore": func() error { return second(c.Restore(ctx, "set_discharge_valve", "why")) },
		"settle":  func() error { return second(c.Settle(ctx, "PS07-FCV-04", "")) },
		"clear":   func() error { return second(c.ClearAlarm(ctx, "x")) },
		"token": func() error {
			return second(c.CreateToken(ctx, access.TokenSpec{Name: "mine", Roles: []string{"operator"}, NoExpiry: true}))
		},
		"revoke": func() error { return second(c.RevokeToken(ctx, "x")) },
		"reload": func() error { return second(c.Reload(ctx)) },
	} {
		note(what, do())
	}
	return out
}

// as calls a socket under another uid and gid, in a copy of this binary that the other user can start.
func as(t *testing.T, socket string, uid, gid uint32) tried {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process under another uid")
	}
	skipUnderEmulation(t)
	cmd := exec.CommandContext(t.Context(), copyOfThisBinary(t))
	cmd.Env, cmd.Stderr, cmd.Dir = []string{asSocket + "=" + socket}, os.Stderr, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: gid}}
	raw, err := cmd.Output()
	must(t, err)
	var out tried
	must(t, json.Unmarshal(raw, &out))
	return out
}

// skipUnderEmulation skips what QEMU's user mode cannot do for a Go program: start another one, and deliver a SIGPIPE.
func skipUnderEmulation(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	if loaded, err := os.Readlink("/proc/thread-self/exe"); err == nil && loaded != self {
		t.Skipf("this binary runs under the emulator %s", loaded)
	}
}

func copyOfThisBinary(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "capd")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	must(t, os.Chmod(dir, 0o755))
	path, err := os.Executable()
	must(t, err)
	from, err := os.Open(path)
	must(t, err)
	to, err := os.OpenFile(filepath.Join(dir, "caller"), os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	_, err = io.Copy(to, from)
	must(t, errors.Join(err, from.Close(), to.Close()))
	return to.Name()
}

// nobody is an account with a group of its own.
func nobody(t *testing.T) (uid, gid uint32, group string) {
	t.Helper()
	account, err := user.Lookup("nobody")
	if err != nil {
		t.Skip(err)
	}
	g, err := user.LookupGroupId(account.Gid)
	if err != nil {
		t.Skip(err)
	}
	return number(t, account.Uid), number(t, account.Gid), g.Name
}

func number(t *testing.T, text string) uint32 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 32)
	must(t, err)
	return uint32(n)
}

// noAccount is a uid and gid that no box should know.
const noAccount = 3123456789

func TestWhoIsNoTechnicianLooksAndChangesNothing(t *testing.T) {
	b := localtest.Start(t)
	uid, gid, _ := nobody(t)
	for name, id := range map[string][2]uint32{"an account": {uid, gid}, "a uid without account": {noAccount, noAccount}} {
		got := as(t, b.Socket, id[0], id[1])
		if got.Caller.Technician || got.Caller.UID != id[0] || got.Reached != "" {
			t.Errorf("%s: %+v %s", name, got.Caller, got.Reached)
		}
		for _, may := range []string{"status", "read", "tools", "explain", "point", "move"} {
			if e := got.Errors[may]; e != nil {
				t.Errorf("%s: %s: %v", name, may, e)
			}
		}
		if got.Read.Verdict != outcome.Observed || !got.SeesTools {
			t.Errorf("%s may not read: %s", name, got.Read.Text())
		}
		if r := got.Moved.Reason; got.Moved.Verdict != outcome.NotExecuted || r == nil || r.Code != outcome.NoAccess || !contains(got.Moved.Text(),
			"capd-tech") {
			t.Errorf("%s moved the valve: %s", name, got.Moved.Text())
		}
		for _, may := range []string{"lock", "unlock", "force", "mode", "degrade", "restore", "settle", "clear", "token", "revoke", "reload"} {
			if e := got.Errors[may]; e == nil || e.Code != localapi.Forbidden || !contains(e.Error(), "capd-tech") {
				t.Errorf("%s: %s: %v", name, may, e)
			}
		}
	}
	if b.Machine.Writes() != 0 || len(b.Standing.Lockouts()) != 0 || len(b.Tokens.List()) != 0 {
		t.Error("something was changed")
	}
}

func TestAMemberOfTheGroupIsATechnicianButLiftsNoLockoutOfOthers(t *testing.T) {
	uid, gid, group := nobody(t)
	for name, id := range map[string][2]uint32{"by the account's groups": {uid, noAccount}, "by the process's own group": {noAccount, gid}} {
		b := localtest.Start(t, func(d *localapi.Deps) { d.Technicians = group })
		got := as(t, b.Socket, id[0], id[1])
		if !got.Caller.Technician || got.Moved.Verdict != outcome.Confirmed && got.Moved.Reason.Code != outcome.LockedOut {
			t.Errorf("%s: %+v, %s", name, got.Caller, got.Moved.Text())
		}
		for _, may := range []string{"status", "mode", "degrade", "restore", "token", "reload"} {
			if e := got.Errors[may]; e != nil {
				t.Errorf("%s: %s: %v", name, may, e)
			}
		}
		if e := got.Errors["force"]; e == nil || e.Code != localapi.Forbidden || !contains(e.Error(), "root") {
			t.Errorf("%s: force: %v", name, e)
		}
	}
}

func TestWithoutAGroupOnlyRootIsATechnician(t *testing.T) {
	b := localtest.Start(t, func(d *localapi.Deps) { d.Technicians, d.OwnUIDIsTechnician = "", false })
	uid, gid, _ := nobody(t)
	if got := as(t, b.Socket, uid, gid); got.Caller.Technician || !contains(got.Errors["lock"].Error(), "only root") {
		t.Errorf("%+v %v", got.Caller, got.Errors["lock"])
	}
	s, err := b.Client.Status(t.Context())
	must(t, err)
	if !s.Caller.Technician {
		t.Error("root is no technician")
	}
}

func TestAnActionWithoutPermissionsIsStillForTechniciansOnly(t *testing.T) {
	b := localtest.Start(t)
	contract, err := os.ReadFile(filepath.Join(b.Dir, "contracts.d", "fcv-04.yaml"))
	must(t, err)
	b.Write(t, "contracts.d/fcv-04.yaml", strings.ReplaceAll(string(contract), "    security: {permissions: [valve:write], scopes: [\"site:ps07\"]}\n",
		""))
	must(t, second(b.Client.Reload(t.Context())))
	uid, gid, _ := nobody(t)
	got := as(t, b.Socket, uid, gid)
	if got.Moved.Verdict != outcome.NotExecuted || got.Moved.Reason.Code != outcome.NoAccess || b.Machine.Writes() != 0 {
		t.Errorf("%s", got.Moved.Text())
	}
}

func TestASocketThatMayNotBeOpenedIsNamed(t *testing.T) {
	b := localtest.Start(t)
	must(t, os.Chmod(b.Socket, 0o600))
	uid, gid, _ := nobody(t)
	if got := as(t, b.Socket, uid, gid); !contains(got.Reached, "permission denied on "+b.Socket) {
		t.Errorf("%q", got.Reached)
	}
}
