package lint

import (
	"regexp"
	"strings"

	"capd/internal/document"
)

// Forms of secrets. They are compiled once and never change.
var (
	secretForm = regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----` +
		`|\b(AKIA|ASIA)[0-9A-Z]{16}\b` + // AWS access key
		`|\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{20,}` +
		`|\bxox[abprs]-[\w-]{10,}|\bsk-[\w-]{32,}|\bAIza[\w-]{35}` +
		`|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,}` + // JSON Web Token, RFC 7519
		`|\b[a-zA-Z][a-zA-Z0-9+.-]*://[^/\s:@]*:[^/\s@]+@` + // URL with a password, RFC 3986 section 3.2.1
		`|(?i:\bbearer\s+[A-Za-z0-9._~+/-]{20,}=*)`)
	// secretGiven is a word for a secret with a value behind it; what is behind it is a secret only if no word of a language.
	secretGiven = regexp.MustCompile(`(?i)\b(?:password|passwd|passphrase|pwd|secret|token|api[ _-]?key)\b["']?\s*[=:]\s*["']?([^\s"',;]{6,})`)
	noWord      = regexp.MustCompile(`[0-9!@#$%^&*+/\\]`)
	secretName  = regexp.MustCompile(`(?i)(^|_|-)(password|passwd|passphrase|pwd|secret|token|api_?key|credentials?)$`)
)

// secret looks at every text of the file. The message never repeats what it found.
func secret(p *Pass) {
	const hint = "take it out, and change it at the device: it was written down; credentials belong to the device's options as a reference"
	eachText(p.Contract.Source, func(n *document.Node) {
		if looksSecret(n.Text()) {
			p.report(n.Pos(), n.Path(), hint, "the text looks like a password, token or key")
		}
	})
	for _, a := range p.Contract.Actions {
		for _, x := range parameters(a) {
			if !secretName.MatchString(x.name) {
				continue
			}
			for _, key := range []string{"default", "const", "enum", "examples"} {
				if given := x.node.Get(key); given.Kind() != document.Null {
					p.report(x.node.KeyPos(key), x.path, hint, "the parameter %q has its value in the contract", x.name)
				}
			}
		}
	}
}

// shortestSecret is the length of the shortest text that the forms could match.
const shortestSecret = len("pwd=abcde1")

func looksSecret(text string) bool {
	if len(text) < shortestSecret {
		return false
	}
	lower := strings.ToLower(text)
	if hasAny(lower, []string{"-----begin", "akia", "asia", "gh", "glpat-", "xox", "sk-", "aiza", "eyj", "://", "bearer"}) && secretForm.MatchString(text) {
		return true
	}
	if !hasAny(lower, []string{"pass", "pwd", "secret", "token", "key"}) {
		return false
	}
	given := secretGiven.FindStringSubmatch(text)
	return given != nil && noWord.MatchString(given[1])
}
