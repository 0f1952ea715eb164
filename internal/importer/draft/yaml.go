package draft

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Map is a YAML flow map under construction; every method gives a longer one.
type Map []string

// Raw adds a value that is YAML already: a number, a word of the format, a list of numbers.
func (m Map) Raw(key, value string) Map { return append(m[:len(m):len(m)], key+": "+value) }

// Int adds a whole number.
func (m Map) Int(key string, value int) Map { return m.Raw(key, strconv.Itoa(value)) }

// Text adds a text, quoted where YAML readers could take it for something else. An empty text adds nothing.
func (m Map) Text(key, value string) Map {
	if value == "" {
		return m
	}
	return m.Raw(key, quote(value))
}

// Map adds a map.
func (m Map) Map(key string, value Map) Map { return m.Raw(key, value.String()) }

// String is the map on one line.
func (m Map) String() string { return "{" + strings.Join(m, ", ") + "}" }

// safe is what needs no quotes in a flow map, except for the words below.
var safe = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_/-]*$`)

// quote writes a text on one line, in quotes where it needs them.
func quote(text string) string {
	text = OneLine(text, 200)
	switch strings.ToLower(text) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
	default:
		if safe.MatchString(text) {
			return text
		}
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// runs are what the document format takes for the mark of a merge conflict, or refuses as too long.
var runs = regexp.MustCompile(`<{4,}|>{4,}`)

// OneLine makes a text fit for one line: every run of blanks, line breaks and unprintable characters becomes a space, and what
// is longer than most characters ends in "...".
func OneLine(text string, most int) string {
	var b strings.Builder
	blank, count := false, 0
	for _, r := range runs.ReplaceAllString(text, "<") {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) {
			blank = b.Len() > 0
			continue
		}
		if blank {
			b.WriteByte(' ')
			count++
		}
		if count >= most {
			return strings.TrimRight(b.String(), " ") + "..."
		}
		blank = false
		b.WriteRune(r)
		count++
	}
	return b.String()
}

// width is how long a line of a comment may be.
const width = 118

// comment writes a text as comment lines, each paragraph wrapped; the second and further lines of a list item are indented.
func comment(b *strings.Builder, indent, text string) {
	lead := ""
	if strings.HasPrefix(text, "- ") {
		lead = "  "
	}
	line := indent + "#"
	for _, word := range strings.Fields(OneLine(text, 4000)) {
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width && len(line) > len(indent)+1 {
			b.WriteString(line + "\n")
			line = indent + "#" + lead
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}
