package localapi

import (
	"encoding/json"
	"time"

	"capd/internal/access"
	"capd/internal/health"
	"capd/internal/invoke"
	"capd/internal/outcome"
	"capd/internal/physical"
	"capd/internal/standing"
)

// Status is the state of the box in one document: GET /v1/status.
type Status struct {
	Version   string             `json:"version"`
	PID       int                `json:"pid"`
	Started   time.Time          `json:"started"`
	UptimeS   int64              `json:"uptime_s"`
	MCPURL    string             `json:"mcp_url,omitempty"`
	Caller    Caller             `json:"caller"`
	Mode      standing.ModeState `json:"mode"`
	Snapshot  Published          `json:"snapshot"`
	Links     []Link             `json:"links"`
	Rejected  []RejectedFile     `json:"rejected"`
	Warnings  []Problem          `json:"warnings"`
	Suspended []string           `json:"suspended"` // contract files of which no version is in force
	Lockouts  []standing.Lockout `json:"lockouts"`
	Armed     []standing.Arm     `json:"armed"`
	Unsettled []standing.Mark    `json:"unsettled"`
	Running   []invoke.Running   `json:"running"`
	Degraded  []health.State     `json:"degraded"`
	Alarms    AlarmCount         `json:"alarms"`
	Recent    []Outcome          `json:"recent"` // the latest 10, newest first
	Journal   JournalState       `json:"journal"`
	Store     StoreState         `json:"store"`
}

// Caller is who asked, as the kernel says.
type Caller struct {
	UID        uint32 `json:"uid"`
	Name       string `json:"name"`
	Technician bool   `json:"technician"` // may change things
}

// Published is the set of files in force.
type Published struct {
	ID        uint64    `json:"id"`
	At        time.Time `json:"at"`
	AgeS      int64     `json:"age_s"`
	Assets    int       `json:"assets"`
	Points    int       `json:"points"`
	Contracts int       `json:"contracts"`
	Tools     int       `json:"tools"`
	Profiles  int       `json:"profiles"`
}

// Problem is one finding about a file.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`   // from 1; 0 is the file as a whole
	Column  int    `json:"column,omitempty"` // from 1
	Path    string `json:"path,omitempty"`   // in the document
	Rule    string `json:"rule"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	Warning bool   `json:"warning,omitempty"`
}

// RejectedFile is a file that is not in force as it is written.
type RejectedFile struct {
	File     string    `json:"file"`
	Kind     string    `json:"kind"`    // inventory, contract or profile
	Serving  string    `json:"serving"` // what serves instead
	Problems []Problem `json:"problems"`
}

// Health says in one word how a link or a device is.
type Health string

// The words.
const (
	Healthy   Health = "ok"
	Unused    Health = "unused"     // nothing was read yet
	BadPoints Health = "bad_points" // it answers, but some values are bad
	Frozen    Health = "frozen"     // its liveness counter stands still
	Offline   Health = "offline"    // it does not answer
)

// Link is one wire and what is on it. Counts are since the link was opened.
type Link struct {
	ID           string            `json:"id"`
	Transport    string            `json:"transport"`
	Health       Health            `json:"health"`
	Transactions uint64            `json:"transactions"`
	Failed       uint64            `json:"failed"`
	Errors       map[string]uint64 `json:"errors,omitempty"` // by kind
	LastOK       time.Time         `json:"last_ok,omitzero"`
	Queue        int               `json:"queue"`
	LatencyMS    float64           `json:"latency_ms"` // moving average
	MaxLatencyMS float64           `json:"max_latency_ms"`
	BusyMS       int64             `json:"busy_ms"`
	// UtilisationPercent is the part of the time since the link was opened in which a transaction ran: how full a serial bus is.
	UtilisationPercent float64  `json:"utilisation_percent"`
	Devices            []Device `json:"devices"`
}

// Device is what answers on a link.
type Device struct {
	ID        string    `json:"id"`
	Health    Health    `json:"health"`
	Points    int       `json:"points"`
	Polled    int       `json:"polled"`
	Bad       int       `json:"bad"` // points whose last reading is bad
	LastGood  time.Time `json:"last_good,omitzero"`
	LastWrite time.Time `json:"last_write,omitzero"`
	// PausedUntil is until when polls of the silent device pause.
	PausedUntil time.Time `json:"paused_until,omitzero"`
	Liveness    *Liveness `json:"liveness,omitempty"` // only with a counter
}

// Liveness is what a device's counter shows.
type Liveness struct {
	Counter  string    `json:"counter"` // ASSET.point
	WithinMS int64     `json:"within_ms"`
	Alive    bool      `json:"alive"`
	Frozen   bool      `json:"frozen"`
	LastMove time.Time `json:"last_move,omitzero"`
}

// AlarmCount sums up the active alarms.
type AlarmCount struct {
	Active  int             `json:"active"`
	Worst   health.Severity `json:"worst,omitempty"`
	Newest  *health.Alarm   `json:"newest,omitempty"`
	Dropped uint64          `json:"dropped,omitempty"` // active ones that had to make room since the start
}

// Outcome is one ended call in short.
type Outcome struct {
	Invocation string    `json:"invocation"`
	At         time.Time `json:"at,omitzero"` // when it was asked
	Action     string    `json:"action"`
	Asset      string    `json:"asset,omitempty"`
	Subject    string    `json:"subject"`
	// SubjectName is what people call the subject.
	SubjectName string          `json:"subject_name,omitempty"`
	Verdict     outcome.Verdict `json:"verdict"`
	Level       *outcome.Level  `json:"level,omitempty"`
	Sent        bool            `json:"sent"`
	Code        outcome.Code    `json:"code,omitempty"`
	Message     string          `json:"message,omitempty"`
	Amended     string          `json:"amended,omitempty"` // the latest thing learned after the answer
}

// JournalState is how the record of what was done is.
type JournalState struct {
	Segments int    `json:"segments"`
	Bytes    int64  `json:"bytes"`
	Last     uint64 `json:"last"`    // number of the latest record
	Durable  uint64 `json:"durable"` // number of the latest record surely on disk
	Failed   string `json:"failed,omitempty"`
	// RetentionFailed is why old segments could not be deleted.
	RetentionFailed string `json:"retention_failed,omitempty"`
}

// StoreState is the state file.
type StoreState struct {
	Bytes int64 `json:"bytes"` // 0 when it is not known
}

// Asset is one asset in short: GET /v1/assets.
type Asset struct {
	ID        string             `json:"id"`
	Title     string             `json:"title,omitempty"`
	Class     string             `json:"class,omitempty"`
	Location  string             `json:"location,omitempty"`
	Aliases   []string           `json:"aliases,omitempty"`
	Device    string             `json:"device,omitempty"`
	Tools     []string           `json:"tools,omitempty"`
	Lockouts  []standing.Lockout `json:"lockouts,omitempty"`
	Unsettled *standing.Mark     `json:"unsettled,omitempty"`
	Points    []Point            `json:"points,omitempty"` // only for one asset
}

// Point is one point, with its last reading when there is one.
type Point struct {
	Name    string          `json:"name"`
	Ref     string          `json:"ref"`
	Title   string          `json:"title,omitempty"`
	Role    physical.Role   `json:"role,omitempty"`
	Access  string          `json:"access"`
	Unit    physical.Unit   `json:"unit,omitempty"`
	Reading *invoke.Reading `json:"reading,omitempty"`
}

// Readings is a fresh read of one point or of all points of an asset: GET /v1/points/{ref}.
type Readings struct {
	Asset    string           `json:"asset"`
	Good     bool             `json:"good"` // every reading is of good quality
	Readings []invoke.Reading `json:"readings"`
}

// Tool is one action that the caller may see.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Asset       string          `json:"asset"`
	Location    string          `json:"location,omitempty"`
	Effect      string          `json:"effect"`
	Risk        string          `json:"risk"`
	ToSafe      bool            `json:"to_safe,omitempty"`
	Contract    string          `json:"contract"` // tool@version
	Degraded    bool            `json:"degraded,omitempty"`
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
}

// Found is the answer to a search for tools.
type Found struct {
	Query     string         `json:"query"`
	Total     int            `json:"total"`             // tools in force
	Permitted int            `json:"permitted"`         // of these, those that the caller may see
	Removed   map[string]int `json:"removed,omitempty"` // how many each rule of the policy removed
	Tools     []FoundTool    `json:"tools"`
}

// FoundTool is one tool of a search, with why it is there when that was asked for.
type FoundTool struct {
	Tool
	Score float64  `json:"score"`
	Stage string   `json:"stage"`
	Why   []string `json:"why,omitempty"`
}

// CallRequest is the body of POST /v1/call.
type CallRequest struct {
	Action    string         `json:"action"`
	Args      map[string]any `json:"args,omitempty"`
	RequestID string         `json:"request_id,omitempty"`
	DryRun    bool           `json:"dry_run,omitempty"`
}

// Locked is the answer to a lock: what stands now, and what still moves.
type Locked struct {
	Lockout standing.Lockout   `json:"lockout"`
	Others  []standing.Lockout `json:"others"`  // of other people on the same target
	Running []invoke.Running   `json:"running"` // calls already under way on what was locked; the lock does not stop them
}

// Unlocked is the answer to an unlock.
type Unlocked struct {
	Lockout standing.Lockout   `json:"lockout"` // the one that was lifted
	Forced  bool               `json:"forced,omitempty"`
	Others  []standing.Lockout `json:"others"` // that still stand on the same target
}

// Armed is the answer to an arm or a disarm: the consent that was given, or taken back.
type Armed struct {
	Arm standing.Arm `json:"arm"`
}

// ModeChange is the answer to a change of the mode.
type ModeChange struct {
	Before standing.ModeState `json:"before"`
	Now    standing.ModeState `json:"now"`
}

// Settled is the answer to a settling.
type Settled struct {
	Asset string         `json:"asset"`
	Mark  *standing.Mark `json:"mark,omitempty"` // what was taken off; none when the asset was settled already
}

// ToolHealth is the answer to degrade and restore.
type ToolHealth struct {
	Before health.State `json:"before"`
	Now    health.State `json:"now"`
}

// TokenRequest is the body of POST /v1/tokens.
type TokenRequest struct {
	Name     string   `json:"name"`
	Roles    []string `json:"roles"`
	Scopes   []string `json:"scopes,omitempty"`
	Profile  string   `json:"profile,omitempty"`
	Tenant   string   `json:"tenant,omitempty"`
	TTL      string   `json:"ttl,omitempty"` // such as 720h
	NoExpiry bool     `json:"no_expiry,omitempty"`
}

// NewToken is a token just made. Nothing can show the secret again.
type NewToken struct {
	Secret string       `json:"secret"`
	Token  access.Token `json:"token"`
}

// Reloaded is what a reload changed, by the names of tools.
type Reloaded struct {
	Before   uint64         `json:"before"` // snapshot
	Now      uint64         `json:"now"`
	Added    []string       `json:"added"`
	Removed  []string       `json:"removed"`
	Changed  []string       `json:"changed"` // of a contract with other content
	Rejected []RejectedFile `json:"rejected"`
	Warnings []Problem      `json:"warnings"`
}
