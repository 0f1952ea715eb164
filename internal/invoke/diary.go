package invoke

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"capd/internal/journal"
	"capd/internal/outcome"
	"capd/internal/physical"
)

// Journal is the durable memory as the corridor needs it; package journal is one. Append returns when the record is on disk;
// AppendAdvisory may lose its record in a crash.
type Journal interface {
	Append(ctx context.Context, kind journal.Kind, payload any) (journal.Seq, error)
	AppendAdvisory(ctx context.Context, kind journal.Kind, payload any) (journal.Seq, error)
	Replay(ctx context.Context, each func(journal.Record) error) error
	Stats() journal.Stats
	// Need keeps a record, and all after it, from being deleted for age or size.
	Need(seq journal.Seq)
}

// refusalEvent marks the event that tells of a call that was not carried out.
const refusalEvent = "refusal"

// intent is the record of what is about to be sent: enough to verify it after a crash.
type intent struct {
	Invocation  string                   `json:"invocation"`
	Subject     string                   `json:"subject"`
	SubjectName string                   `json:"subject_name"`
	Action      string                   `json:"action"`
	Tool        string                   `json:"tool"`
	Version     string                   `json:"version"`
	Asset       string                   `json:"asset"`
	Args        map[string]any           `json:"args"`
	Key         string                   `json:"key"`
	RequestID   string                   `json:"request_id,omitempty"`
	Writes      []intendedWrite          `json:"writes"`
	Baseline    map[string]savedBaseline `json:"baseline"`
	At          time.Time                `json:"at"`
}

type intendedWrite struct {
	Point string         `json:"point"`
	Value physical.Value `json:"value"`
	Raw   string         `json:"raw"`
	// Release marks the end of a pulse, which is owed from here on until a record says that it ended.
	Release bool `json:"release,omitempty"`
	// Place is where the point was, so that a release goes there or nowhere.
	Place string `json:"place,omitempty"`
}

// savedBaseline is a reading as an intent keeps it.
type savedBaseline struct {
	Value   physical.Value   `json:"value"`
	Unit    physical.Unit    `json:"unit,omitempty"`
	Quality physical.Quality `json:"quality"`
	At      time.Time        `json:"at"`
	Raw     string           `json:"raw,omitempty"`
}

func baselineOf(readings map[string]physical.Reading) map[string]savedBaseline {
	out := make(map[string]savedBaseline, len(readings))
	for ref, r := range readings {
		out[ref] = savedBaseline{Value: r.Value, Unit: r.Unit, Quality: r.Quality, At: r.At, Raw: r.RawHex()}
	}
	return out
}

func (s savedBaseline) reading() (physical.Reading, error) {
	raw, err := hex.DecodeString(s.Raw)
	return physical.Reading{Value: s.Value, Unit: s.Unit, Quality: s.Quality, Started: s.At, At: s.At, Raw: raw}, err
}

// ended is the record of an outcome.
type ended struct {
	Event     string             `json:"event,omitempty"`
	Answer    Answer             `json:"answer"`
	Subject   string             `json:"subject"`
	Name      string             `json:"subject_name,omitempty"`
	Tool      string             `json:"tool"`
	Version   string             `json:"version"`
	Args      map[string]any     `json:"args,omitempty"`
	Key       string             `json:"key,omitempty"`
	RequestID string             `json:"request_id,omitempty"`
	Samples   []outcome.Evidence `json:"samples,omitempty"`
}

// amended is the record of an amendment.
type amended struct {
	Invocation string    `json:"invocation"`
	Amendment  Amendment `json:"amendment"`
}

// safeIntent is how long the intent of an action to the safe side may take to reach the disk.
const safeIntent = time.Second

// intend writes the intent, with the baseline, before anything is sent. From here on the request_id answers repeats.
func (c *Corridor) intend(ctx context.Context, r *run, readings map[string]physical.Reading) error {
	i := intent{Invocation: r.id, Subject: r.subject.ID, SubjectName: r.subject.Name, Action: r.action.Name, Tool: r.action.Contract.Tool,
		Version: r.action.Contract.Version.String(), Asset: r.action.Contract.Asset, Args: r.args, Key: r.key, RequestID: r.requestID,
		Baseline: baselineOf(readings), At: time.Now()}
	for _, w := range r.writes {
		i.Writes = append(i.Writes, intendedWrite{Point: w.ref, Value: w.value, Raw: hex.EncodeToString(w.raw), Release: w.step.Release, Place: w.place})
	}
	ctx = context.WithoutCancel(ctx)
	if r.action.ToSafe { // the way to the safe side does not wait for a disk that hangs
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, safeIntent)
		defer cancel()
	}
	seq, err := c.Journal.Append(ctx, journal.Intent, i)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	c.open(r, seq)
	return nil
}

// open notes where the intent of a running call is in the journal, so that it is kept until its outcome is there.
func (c *Corridor) open(r *run, seq journal.Seq) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.intent = seq
	c.needOldest()
}

// needOldest tells the journal which intent is the oldest without an outcome; the caller holds the lock.
func (c *Corridor) needOldest() {
	oldest := c.abandoned
	if owed := c.holds.oldestOwed(); owed > 0 && (oldest == 0 || owed < oldest) {
		oldest = owed
	}
	for _, r := range c.running {
		if r.intent > 0 && (oldest == 0 || r.intent < oldest) {
			oldest = r.intent
		}
	}
	c.Journal.Need(oldest)
}

// record writes the outcome: durably after an intent or a proof that nothing was needed, as a note after a refusal.
func (c *Corridor) record(r *run, a Answer, samples []outcome.Evidence, intended bool) error {
	e := ended{Answer: a, Subject: r.subject.ID, Name: r.subject.Name, Tool: r.action.Contract.Tool, Version: r.action.Contract.Version.String(), Args: r.args, Key: r.key,
		RequestID: r.requestID, Samples: samples}
	c.records.put(e.record())
	ctx := context.WithoutCancel(c.ctx)
	if !intended && a.Verdict == outcome.NotExecuted {
		c.records.release(r.subject.ID, r.requestID)
		return c.noteEnd(e)
	}
	_, err := c.Journal.Append(ctx, journal.Outcome, e)
	return err
}

func (e ended) record() Record {
	return Record{Answer: e.Answer, Subject: e.Subject, Name: e.Name, Tool: e.Tool, Version: e.Version, Args: e.Args, Samples: e.Samples}
}

// note keeps a refusal that never became a run.
func (c *Corridor) note(req Request, a Answer) {
	e := ended{Answer: a, Subject: req.Subject.ID, Name: req.Subject.Name, Args: shortArgs(req.Args)}
	c.records.put(e.record())
	c.log(req.Subject.ID, a)
	if err := c.noteEnd(e); err != nil {
		c.Log.Warn("refusal not journalled", "invocation", a.Invocation, "error", err)
	}
}

// shortArgs are the arguments of a refused call, if they are short: an agent that sends nonsense again and again must not push the
// outcomes out of the journal.
func shortArgs(args map[string]any) map[string]any {
	const most = 4 << 10
	if raw, err := json.Marshal(args); err != nil || len(raw) > most {
		return nil
	}
	return args
}

// noteEnd writes a refusal as an event, without waiting for the disk: nothing was sent, so nothing depends on it.
func (c *Corridor) noteEnd(e ended) error {
	e.Event = refusalEvent
	_, err := c.Journal.AppendAdvisory(context.WithoutCancel(c.ctx), journal.Event, e)
	return err
}

// amend records what was learned after an answer.
func (c *Corridor) amend(r *run, a Amendment) {
	c.records.amend(r.id, a)
	if _, err := c.Journal.Append(context.WithoutCancel(c.ctx), journal.Amendment, amended{Invocation: r.id, Amendment: a}); err != nil {
		c.Log.Error("amendment not on disk", "invocation", r.id, "error", err)
	}
	c.Log.Warn("amended", "invocation", r.id, "kind", a.Kind, "text", a.Text)
}
