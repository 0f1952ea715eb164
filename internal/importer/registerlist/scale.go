package registerlist

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"

	"golang.org/x/text/unicode/norm"

	"capd/internal/physical"
)

// scaling is what a row says about raw and physical values: value = raw x factor + offset. Empty is what it does not say.
type scaling struct {
	factor, offset string // exact decimals
	unit           string // behind the factor, as in "0.1 °C"
}

var (
	factorForm = regexp.MustCompile(`^(?:(?:raw|value|val|y|w)?\s*[x×*·]\s*)?([+-]?[\d.,']+(?:e[+-]?\d{1,2}|(?:\*|x|×)10\^[+-]?\d{1,2})?)\s*(?:[x×*]\s*(?:raw|value|x)?)?(?:\s*([+-]\s*[\d.,]+))?\s*([^\d\s.,+-].{0,15})?$`)
	ratioForm  = regexp.MustCompile(`^(?:raw|value|val|[x×*])?\s*([\d.,]*)\s*(?:/|÷|:)\s*([\d.,]+)\s*([^\d\s.,+-].{0,15})?$`)
	powerForm  = regexp.MustCompile(`^(?:[x×*]\s*)?10\s*(?:\^|\*\*)\s*([+-]?\d{1,2})$`)
)

// nothing reports whether a cell says that it says nothing.
func nothing(text string) bool {
	switch strings.ToLower(text) {
	case "", "-", "--", "---", "–", "—", "/", "\\", "n/a", "na", "n.a.", "none", "null", "nil", "keine", "kein", "ohne", "无", "没有", "*", ".", "?", "nan", "(none)":
		return true
	}
	return false
}

// readFactor reads a scale with what may stand around it: "x0.1", "0,1", "1/10", "/10", "10^-1", "0.1 °C", "*0.1-40".
func readFactor(text string, m mark) (s scaling, err error) {
	t := strings.ToLower(strings.TrimSpace(norm.NFKC.String(text)))
	t = strings.ReplaceAll(t, "−", "-")
	if g := powerForm.FindStringSubmatch(t); g != nil {
		s.factor, err = exact(powerOfTen(number(g[1])))
		return s, err
	}
	var value *big.Rat
	if g := ratioForm.FindStringSubmatch(t); g != nil {
		if value, err = m.ratio(g[1], g[2]); err != nil {
			return s, err
		}
		s.unit = unitBehind(text, g[3])
	} else if g := factorForm.FindStringSubmatch(t); g != nil {
		if value, err = m.scientific(g[1]); err != nil {
			return s, err
		}
		if s.offset, err = m.decimal(strings.ReplaceAll(g[2], " ", "")); err != nil {
			return s, err
		}
		s.unit = unitBehind(text, g[3])
	} else {
		return s, fmt.Errorf("%q is no scale; write the factor between raw and physical value, such as 0.1", clip(text))
	}
	if value.Sign() == 0 {
		return s, fmt.Errorf("scale %s would make every value 0; write the factor between raw and physical value, such as 0.1", clip(text))
	}
	s.factor, err = exact(value)
	return s, err
}

// unitBehind gives the unit as written, in its own upper and lower case.
func unitBehind(text, folded string) string {
	whole := strings.TrimSpace(norm.NFKC.String(text))
	if folded == "" || len(folded) > len(whole) {
		return ""
	}
	return strings.TrimSpace(whole[len(whole)-len(folded):])
}

// inverse is 1 divided by a decimal, as an exact decimal.
func inverse(decimal string) (string, error) {
	r, ok := new(big.Rat).SetString(decimal)
	if !ok || r.Sign() == 0 {
		return "", fmt.Errorf("%q is no divisor; write one such as 10", clip(decimal))
	}
	return exact(r.Inv(r))
}

// power is the factor that a number of decimal places means.
func power(text string) (string, error) {
	t := strings.TrimSpace(norm.NFKC.String(text))
	n := number(t)
	if t == "" || len(t) > 2 || n < 0 || n > 18 {
		return "", fmt.Errorf("%q is no number of decimal places; write one such as 1", clip(text))
	}
	return exact(powerOfTen(-n))
}

func powerOfTen(n int) *big.Rat {
	p := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(n, -n))), nil)
	if n < 0 {
		return new(big.Rat).SetFrac(big.NewInt(1), p)
	}
	return new(big.Rat).SetInt(p)
}

// maxPlaces bounds the decimals of a scale.
const maxPlaces = 30

// exact writes a fraction as a plain decimal; one that has none, such as 1/3, is an error.
func exact(r *big.Rat) (string, error) {
	places, ok := r.FloatPrec()
	if !ok || places > maxPlaces {
		return "", fmt.Errorf("%s is no exact decimal; write the factor as the device's manual gives it", r.RatString())
	}
	text := r.FloatString(places)
	if len(text) > 2*maxPlaces {
		return "", fmt.Errorf("%s is too large for a scale", clip(text))
	}
	if _, err := physical.ParseDecimal(text); err != nil {
		return "", err
	}
	return text, nil
}

// mark is which decimal mark a column uses where a single number can mean two, such as 1,000.
type mark byte

// sureMark is the decimal mark that a cell shows: a comma or a point that cannot group thousands; 0 when it shows none.
func sureMark(text string) mark {
	at := strings.LastIndexAny(text, ".,")
	if at < 0 {
		return 0
	}
	tail := text[at+1:]
	digits := 0
	for digits < len(tail) && tail[digits] >= '0' && tail[digits] <= '9' {
		digits++
	}
	head := strings.TrimLeft(text[:at], "+-xX×* ")
	if digits == 0 || digits == 3 && head != "0" && !strings.ContainsAny(head, ".,") {
		return 0
	}
	return mark(text[at])
}

// decimal brings a number into plain form; "" stays "".
func (m mark) decimal(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	if own := sureMark(text); own != 0 {
		m = own
	}
	group := "."
	if m != ',' {
		group = ","
	}
	plain := strings.ReplaceAll(strings.ReplaceAll(text, group, ""), "'", "")
	plain = strings.TrimPrefix(strings.ReplaceAll(plain, ",", "."), "+")
	if !plainNumber.MatchString(plain) {
		return "", fmt.Errorf("%q is no number; write one such as 0.1", clip(text))
	}
	r, ok := new(big.Rat).SetString(plain)
	if !ok {
		return "", fmt.Errorf("%q is no number; write one such as 0.1", clip(text))
	}
	return exact(r)
}

// plainNumber bounds what exact arithmetic is done on.
var plainNumber = regexp.MustCompile(`^-?\d{1,20}(\.\d{0,30})?$|^-?\.\d{1,30}$`)

// scientific reads a number that may have a power of ten behind it.
func (m mark) scientific(text string) (*big.Rat, error) {
	mantissa, exponent := text, 0
	if at := strings.IndexAny(text, "e*x×"); at > 0 {
		mantissa = text[:at]
		_, behind, caret := strings.Cut(text[at:], "^")
		if !caret {
			behind = text[at+1:]
		}
		exponent = number(strings.TrimPrefix(behind, "+"))
		if strings.HasPrefix(behind, "-") {
			exponent = -number(behind[1:])
		}
	}
	plain, err := m.decimal(mantissa)
	if err != nil {
		return nil, err
	}
	r, ok := new(big.Rat).SetString(plain)
	if !ok {
		return nil, fmt.Errorf("%q is no number; write one such as 0.1", clip(text))
	}
	return r.Mul(r, powerOfTen(exponent)), nil
}

// ratio reads a/b, where a missing a is 1.
func (m mark) ratio(above, below string) (*big.Rat, error) {
	if above == "" {
		above = "1"
	}
	a, err := m.scientific(above)
	if err != nil {
		return nil, err
	}
	b, err := m.scientific(below)
	if err != nil {
		return nil, err
	}
	if b.Sign() == 0 {
		return nil, fmt.Errorf("%s/%s divides by 0", above, below)
	}
	return a.Quo(a, b), nil
}
