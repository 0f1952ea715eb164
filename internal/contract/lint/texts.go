package lint

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"capd/internal/contract"
	"capd/internal/document"
)

// passage is one text of the contract that an agent, or a person asking one, will read.
type passage struct {
	pos  document.Pos
	path string
	text string
}

// passages lists every text of a contract.
func (p *Pass) passages() []passage {
	c := p.Contract
	all := []passage{{c.Source.KeyPos("title"), "title", c.Title}}
	for _, tag := range c.Source.Get("tags").Items() {
		all = append(all, passage{tag.Pos(), tag.Path(), tag.Text()})
	}
	for _, a := range c.Actions {
		all = append(all, actionPassages(a)...)
	}
	return all
}

func actionPassages(a *contract.Action) []passage {
	path := "actions." + a.ID + "."
	all := []passage{{a.Source.KeyPos("title"), path + "title", a.Title}, {a.Source.KeyPos("description"), path + "description", a.Description}}
	for _, intent := range a.Source.Get("intents").Items() {
		all = append(all, passage{intent.Pos(), intent.Path(), intent.Text()})
	}
	eachText(a.Parameters, func(n *document.Node) { all = append(all, passage{n.Pos(), n.Path(), n.Text()}) })
	for _, permit := range a.Permits {
		all = append(all, passage{permit.Pos, path + "permits." + permit.ID + ".reason", permit.Reason})
	}
	if a.Hold != nil {
		all = append(all, passage{a.Hold.Pos, path + "hold.silence", a.Hold.Silence})
	}
	if a.Verify != nil {
		for _, r := range a.Verify.Refute {
			all = append(all, passage{r.Pos, path + "verify.refute.reason", r.Reason})
		}
	}
	return all
}

// eachText visits every text below a node.
func eachText(n *document.Node, visit func(*document.Node)) {
	if n.Kind() == document.String {
		visit(n)
	}
	for _, item := range n.Items() {
		eachText(item, visit)
	}
	for _, key := range n.Keys() {
		eachText(n.Get(key), visit)
	}
}

func descriptionMissing(p *Pass) {
	const hint = "say in one sentence what it does, for an agent that has never seen the plant"
	for _, a := range p.Contract.Actions {
		if strings.TrimSpace(a.Description) == "" {
			p.reportAt(a, "description", hint, "%s has no description", a.ID)
		}
		for _, x := range parameters(a) {
			if strings.TrimSpace(x.node.Get("description").Text()) == "" {
				p.report(x.pos, x.path, hint, "the parameter %q has no description", x.name)
			}
		}
	}
}

// maxDescription is the longest description in characters: some 150 tokens, paid for in every list of tools.
const maxDescription = 600

func descriptionLong(p *Pass) {
	check := func(pos document.Pos, path, text string) {
		if n := utf8.RuneCountInString(text); n > maxDescription {
			p.report(pos, path, "say what it does and what to expect; leave the rest to the plant's documents", "the description has %d characters, and %d is the limit", n, maxDescription)
		}
	}
	for _, a := range p.Contract.Actions {
		check(a.Source.KeyPos("description"), "actions."+a.ID+".description", a.Description)
		for _, x := range parameters(a) {
			check(x.pos, x.path, x.node.Get("description").Text())
		}
	}
}

// Forms of text that speak to the model, and not of the machine, after public reports of tool poisoning (OWASP Top 10 for LLM
// Applications 2025, LLM01). They are compiled once and never change.
var (
	dropRules  = regexp.MustCompile(`(?i)\b(ignore|disregard|forget|override)\b.{0,30}\b(previous|prior|above|earlier|other|all|any|system|safety)\b.{0,30}\b(instruction|prompt|rule|message|guideline|limit)s?\b`)
	ofTheModel = regexp.MustCompile(`(?i)\byou are now\b|\bsystem prompt\b|\bdeveloper mode\b|\bjailbreak\b`)
	keepFrom   = regexp.MustCompile(`(?i)\b(do not|don't|never)\b.{0,20}\b(tell|inform|ask|mention|show|notify|reveal)\b.{0,30}\b(user|operator|human|technician|anyone)\b`)
	noAsking   = regexp.MustCompile(`(?i)\bwithout\b.{0,20}\b(asking|telling|informing|confirmation|approval|consent)\b`)
	callOrder  = regexp.MustCompile(`(?i)\b(always|must)\b.{0,20}\b(call|use|run|invoke)\b.{0,20}\b(this|first|before)\b|\bbefore (using|calling|running) any (other )?tools?\b`)
	markers    = regexp.MustCompile(`(?i)<\s*/?\s*(system|assistant|user|instructions?|important|secret|admin)\s*>|<\|[a-z_]+\|>|\[/?INST\]`)
	sendAway   = regexp.MustCompile(`(?i)\b(send|post|upload|forward|exfiltrate)\b.{0,40}\b(https?://|e-?mail)`)
	inChinese  = regexp.MustCompile(`忽略.{0,10}(指令|指示|规则|提示)|(不要|不得|别)告诉.{0,6}(用户|操作员|任何人)|系统提示词|无需(确认|询问|批准)`)
	unseen     = regexp.MustCompile(`[\x{200B}\x{200E}\x{200F}\x{202A}-\x{202E}\x{2060}-\x{2064}\x{2066}-\x{2069}\x{FEFF}\x{E0000}-\x{E007F}]`)
)

// suspicion says what is wrong with a text, "" when nothing is. Each form needs one of its words, in lower case; looking for them
// first spares nearly every text the slower forms.
func suspicion(text string) string {
	lower := strings.ToLower(text)
	for _, s := range []struct {
		form  *regexp.Regexp
		words []string
		what  string
	}{
		{dropRules, []string{"ignore", "disregard", "forget", "override"}, "tells the model to drop its instructions"},
		{ofTheModel, []string{"you are now", "system prompt", "developer mode", "jailbreak"}, "speaks of the model itself"},
		{keepFrom, []string{"do not", "don't", "never"}, "tells the model to keep something from people"},
		{noAsking, []string{"without"}, "tells the model to act without asking"},
		{callOrder, []string{"always", "must", "before"}, "tells the model when to call it"},
		{markers, []string{"<", "inst]"}, "imitates the markers of a prompt"},
		{sendAway, []string{"http", "mail"}, "tells the model to send something away"},
		{inChinese, []string{"忽略", "告诉", "系统提示词", "无需"}, "tells the model to drop its instructions, or to keep something from people"},
		{unseen, nil, "holds characters that people cannot see"},
	} {
		if hasAny(lower, s.words) && s.form.MatchString(text) {
			return s.what
		}
	}
	return ""
}

// hasAny reports whether a text holds one of the words; no words ask nothing.
func hasAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return len(words) == 0
}

func textInjection(p *Pass) {
	for _, t := range p.passages() {
		if what := suspicion(t.text); what != "" {
			p.report(t.pos, t.path, "describe the machine and the effect; rules for agents belong into permits, limits and permissions", "the text %s", what)
		}
	}
}
