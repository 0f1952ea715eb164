// Package health keeps what is out of order: actions that failed to prove themselves (breakers) and what people must hear of
// (alarms). Both survive a restart.
//
// Its promise: three failed verifications in a row put an action out of service and it stays so until a success or a person says
// otherwise; an alarm stands until it is cleared, with its first cause kept. What makes the box more careful counts at once,
// even if the disk refuses it; what makes it less careful counts only once it is on disk. It never judges a verification, never
// notifies anybody and never touches a machine.
package health

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxText bounds the texts, in characters. Longer reasons and alarm texts are cut, longer names refused.
const MaxText = 500

// maxName bounds names and keys, in characters.
const maxName = 256

// InputError says what is wrong with something a caller gave.
type InputError struct {
	Field   string // action, by, reason, key, text, severity
	Message string
}

func (e *InputError) Error() string { return e.Field + ": " + e.Message }

// checkText refuses names that cannot be shown in one line.
func checkText(field, text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return &InputError{field, "is missing; give one"}
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return &InputError{field, fmt.Sprintf("%q has characters that cannot be shown; write it in one line of plain text", text)}
	case utf8.RuneCountInString(text) > maxName && field != "reason":
		return &InputError{field, fmt.Sprintf("has %d characters, the limit is %d; shorten it", utf8.RuneCountInString(text), maxName)}
	}
	return nil
}

// checkTexts takes fields and texts in turn.
func checkTexts(pairs ...string) error {
	for i := 0; i+1 < len(pairs); i += 2 {
		if err := checkText(pairs[i], pairs[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// clip makes a text from elsewhere, such as a device's, one line of bounded length: an alarm is never refused for its words.
func clip(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if runes := []rune(text); len(runes) > MaxText {
		return string(runes[:MaxText-1]) + "…"
	}
	return text
}

// wall is a clock without its monotonic part, which a restart forgets.
func wall(now func() time.Time) func() time.Time {
	return func() time.Time { return now().Round(0).UTC() }
}
