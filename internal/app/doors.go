package app

import (
	"context"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"capd/internal/access"
	"capd/internal/localapi"
	"capd/internal/mcpserver"
	"capd/internal/registry"
)

// newAgentsDoor builds the door for agents.
func newAgentsDoor(k *core, o Options) (*mcpserver.Server, error) {
	return mcpserver.New(mcpserver.Deps{Corridor: k.corridor, Snapshots: k.registry, Policy: k.policy, Alarms: k.alarms,
		Authenticate: k.tokens.Authenticate, Local: k.localAgent(o), Log: o.Log,
		Config: mcpserver.Config{Version: o.Version, AllowedOrigins: k.config.MCP.AllowedOrigins, AllowedHosts: k.config.MCP.AllowedHosts,
			MaxTools: k.config.Resolver.MaxTools, TopK: k.config.Resolver.TopK}})
}

// localAgent is a user of this computer who calls on the agents' socket without a token: one who may read, where the policy has the
// role viewer; in the demo the daemon's own user has the role operator too. An agent never becomes a technician, whoever runs it.
func (k *core) localAgent(o Options) func(context.Context, uint32) (access.Subject, error) {
	return func(_ context.Context, uid uint32) (access.Subject, error) {
		id := strconv.FormatUint(uint64(uid), 10)
		s := access.Subject{ID: "uid:" + id, Name: "uid " + id, Local: true, Scopes: []string{access.EveryScope}}
		if account, err := user.LookupId(id); err == nil {
			s.Name = account.Username
		}
		wanted := []string{"viewer"}
		if o.OwnUIDIsTechnician && int(uid) == os.Getuid() {
			wanted = append(wanted, "operator")
		}
		for _, role := range wanted {
			if k.policy.Has(role) {
				s.Roles = append(s.Roles, role)
			}
		}
		return s, nil
	}
}

// newStatusDoor builds the door for people at the box.
func newStatusDoor(k *core, o Options, url string) (*localapi.Server, error) {
	return localapi.New(localapi.Deps{Version: o.Version, Log: o.Log, Corridor: k.corridor, Snapshots: k.registry, Machine: k.field, Journal: k.journal,
		Standing: k.standing, Breakers: k.breakers, Alarms: k.alarms, Policy: k.policy, Tokens: k.tokens, StoreSize: k.storeSize,
		Reload: func(ctx context.Context) (*registry.Snapshot, error) { return k.reload(ctx, o.Log, false) },
		Unread: k.reading.failure,
		MCPURL: url, Technicians: k.config.Technicians.Group, OwnUIDIsTechnician: o.OwnUIDIsTechnician})
}

// storeSize is the size of the state file in bytes, 0 when it cannot be told.
func (k *core) storeSize() int64 {
	info, err := os.Stat(filepath.Join(k.config.Folders.State, "registry.db"))
	if err != nil {
		return 0
	}
	return info.Size()
}
