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
	all = append(all, textsBelow(a.Parameters)...)
	for _, permit := range a.Permits {
		all = append(all, passage{permit.Pos, path + "permits." + permit.ID + ".reason", permit.Reason})
	}
	if a.Verify != nil {
		for _, r := range a.Verify.Refute {
			all = append(all, passage{r.Pos, path + "verify.refute.reason", r.Reason})
		}
	}
	return all
}

// textsBelow lists every text below a node.
func textsBelow(n *document.Node) []passage {
	switch n.Kind() {
	case document.String:
		return []passage{{n.Pos(), n.Path(), n.Text()}}
	case document.List:
		var all []passage
		for _, item := range n.Items() {
			all = append(all, textsBelow(item)...)
		}
		return all
	default:
		var all []passage
		for _, key := range n.Keys() {
			all = append(all, textsBelow(n.Get(key))...)
		}
		return all
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

// suspect is a form of text that speaks to the model, and not of the machine.
type suspect struct {
	form *regexp.Regexp
	what string
}

// suspects follows the forms of tool poisoning in public reports (OWASP Top 10 for LLM Applications 2025, LLM01).
func suspects() []suspect {
	form := regexp.MustCompile
	return []suspect{
		{form(`(?i)\b(ignore|disregard|forget|override)\b.{0,30}\b(previous|prior|above|earlier|other|all|any|system|safety)\b.{0,30}\b(instruction|prompt|rule|message|guideline|limit)s?\b`), "tells the model to drop its instructions"},
		{form(`(?i)\byou are now\b|\bsystem prompt\b|\bdeveloper mode\b|\bjailbreak\b`), "speaks of the model itself"},
		{form(`(?i)\b(do not|don't|never)\b.{0,20}\b(tell|inform|ask|mention|show|notify|reveal)\b.{0,30}\b(user|operator|human|technician|anyone)\b`), "tells the model to keep something from people"},
		{form(`(?i)\bwithout\b.{0,20}\b(asking|telling|informing|confirmation|approval|consent)\b`), "tells the model to act without asking"},
		{form(`(?i)\b(always|must)\b.{0,20}\b(call|use|run|invoke)\b.{0,20}\b(this|first|before)\b`), "tells the model when to call it"},
		{form(`(?i)\bbefore (using|calling|running) any (other )?tools?\b`), "tells the model when to call it"},
		{form(`(?i)<\s*/?\s*(system|assistant|user|instructions?|important|secret|admin)\s*>|<\|[a-z_]+\|>|\[/?INST\]`), "imitates the markers of a prompt"},
		{form(`(?i)\b(send|post|upload|forward|exfiltrate)\b.{0,40}\b(https?://|e-?mail)`), "tells the model to send something away"},
		{form(`忽略.{0,10}(指令|指示|规则|提示)|(不要|不得|别)告诉.{0,6}(用户|操作员|任何人)|系统提示词|无需(确认|询问|批准)`), "tells the model to drop its instructions, or to keep something from people"},
		{form(`[\x{200B}\x{200E}\x{200F}\x{202A}-\x{202E}\x{2060}-\x{2064}\x{2066}-\x{2069}\x{FEFF}\x{E0000}-\x{E007F}]`), "holds characters that people cannot see"},
	}
}

func textInjection(p *Pass) {
	forms := suspects()
	for _, t := range p.passages() {
		for _, s := range forms {
			if s.form.MatchString(t.text) {
				p.report(t.pos, t.path, "describe the machine and the effect; rules for agents belong into permits, limits and permissions", "the text %s", s.what)
				break
			}
		}
	}
}
