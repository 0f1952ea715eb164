package document

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// refusal says why a plain scalar or a place in the file is not accepted.
type refusal struct{ rule, message, hint string }

// Shapes of plain scalars. Regular expressions are compiled once and never change.
var (
	jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
	hexNumber  = regexp.MustCompile(`^0x[0-9a-fA-F]+$`)
	// numberLike covers what some YAML reader takes for a number, and what people mean as one.
	numberLike = regexp.MustCompile(`^[-+]?(0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?|\.[0-9][0-9_]*([eE][-+]?[0-9]+)?|\.(inf|Inf|INF|nan|NaN|NAN))$`)
)

// refusePlain says why an unquoted text may not begin as it does (YAML 1.2.2, section 7.3.3; "?" and ":" are refused before
// any character, because YAML readers differ there).
func refusePlain(text string) *refusal {
	if text == "" {
		return nil
	}
	first := text[:1]
	if strings.Contains(",[]{}#&*!|>'\"%@`?:", first) || text == "-" || strings.HasPrefix(text, "- ") {
		return &refusal{RuleSyntax, fmt.Sprintf("an unquoted text may not begin with %q", first), "quote it: " + strconv.Quote(clip(text))}
	}
	return nil
}

// classify gives the kind of an unquoted scalar, or why it is refused.
func classify(text string) (Kind, *refusal) {
	switch text {
	case "", "~", "null":
		return Null, nil
	case "true", "false":
		return Bool, nil
	case "True", "TRUE", "False", "FALSE", "Null", "NULL":
		return String, &refusal{RuleAmbiguous, fmt.Sprintf("%s is read differently by different YAML readers", text),
			fmt.Sprintf("write %s, or %q if text is meant", strings.ToLower(text), text)}
	}
	if bad := refusePlain(text); bad != nil {
		return String, bad
	}
	if !strings.ContainsAny(text[:1], "+-.0123456789") {
		return String, nil
	}
	if !jsonNumber.MatchString(text) && !hexNumber.MatchString(text) {
		if numberLike.MatchString(text) {
			return Number, refuseNumber(text)
		}
		return String, nil
	}
	if len(text) > MaxDigits {
		return Number, &refusal{RuleLimit, fmt.Sprintf("a number of %d characters is longer than %d", len(text), MaxDigits), "quote it if text is meant"}
	}
	if isHex(text) && len(strings.TrimLeft(text[2:], "0")) > 16 {
		return Number, &refusal{RuleLimit, fmt.Sprintf("%s is wider than 64 bits", text), "quote it if text is meant"}
	}
	return Number, nil
}

// refuseNumber says how to write what looks like a number and is none.
func refuseNumber(text string) *refusal {
	advice := fmt.Sprintf("write the plain decimal number, or %q if text is meant", clip(text))
	body := strings.TrimLeft(text, "+-")
	lower := strings.ToLower(body)
	switch {
	case strings.HasSuffix(lower, "inf") || strings.HasSuffix(lower, "nan"):
		advice = "no value of a plant is infinite or undefined; leave the key out where no limit is meant"
	case strings.Contains(text, "_"):
		advice = fmt.Sprintf("write %s, or %q if text is meant", clip(strings.ReplaceAll(text, "_", "")), clip(text))
	case strings.HasPrefix(lower, "0x"):
		advice = "write hexadecimal as 0x and digits, without a sign"
	case strings.HasPrefix(lower, "0o") || strings.HasPrefix(lower, "0b"):
		advice = "write it as decimal or as hexadecimal 0x..."
	case len(body) > 1 && body[0] == '0' && body[1] >= '0' && body[1] <= '9':
		advice = fmt.Sprintf("a leading zero means octal to some readers: write %s, or %q if text or a register number of a manual is meant", clip(strings.TrimLeft(body, "0")), clip(text))
	case strings.HasPrefix(body, "."):
		advice = "write a digit before the point: " + clip(strings.Replace(text, ".", "0.", 1))
	case strings.HasSuffix(body, "."):
		advice = "write a digit after the point, or none: " + clip(body[:len(body)-1])
	case strings.HasPrefix(text, "+"):
		advice = fmt.Sprintf("write %s, or %q if text is meant", clip(body), clip(text))
	}
	return &refusal{RuleAmbiguous, fmt.Sprintf("%s is not accepted as a number", clip(text)), advice}
}

// classifyKey says why an unquoted key is refused; bools and whole numbers are accepted as the text they are written with.
func classifyKey(text string) *refusal {
	kind, bad := classify(text)
	switch {
	case bad != nil:
		return bad
	case kind == Null:
		return &refusal{RuleAmbiguous, "a key may not be null", `write the key, quoted if it is meant as text: "null"`}
	case kind == Number && !hexNumber.MatchString(text) && strings.ContainsAny(text, ".eE"):
		return &refusal{RuleAmbiguous, fmt.Sprintf("key %s is a number, not a name", text), fmt.Sprintf("quote it: %q", text)}
	}
	return nil
}

// clip shortens text for a message.
func clip(text string) string {
	const most = 40
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "..."
}
