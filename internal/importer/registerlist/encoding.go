package registerlist

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

// The encodings.
const (
	utf8Name    = "utf-8"
	utf16LE     = "utf-16le"
	utf16BE     = "utf-16be"
	windows1252 = "windows-1252"
	gb18030     = "gb18030"
)

// decode gives the text of a file without its byte order mark. Bytes that are no character of the encoding become U+FFFD.
func decode(data []byte, name string) (text, used string, err error) {
	if name == "" {
		name = detect(data)
	}
	var e encoding.Encoding
	switch name {
	case utf8Name:
		return strings.ToValidUTF8(strings.TrimPrefix(string(data), "\uFEFF"), "\uFFFD"), name, nil
	case utf16LE:
		e = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case utf16BE:
		e = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case windows1252:
		e = charmap.Windows1252
	case gb18030:
		e = simplifiedchinese.GB18030
	default:
		return "", name, fmt.Errorf("encoding %q is not known; use %s, %s, %s, %s or %s", name, utf8Name, utf16LE, utf16BE, windows1252, gb18030)
	}
	out, err := e.NewDecoder().Bytes(data)
	if err != nil {
		return "", name, fmt.Errorf("the file is not %s text: %w", name, err)
	}
	return strings.TrimPrefix(string(out), "\uFEFF"), name, nil
}

// binaryKind names files that are no text, as their first bytes tell, and what to do; "" for others.
func binaryKind(data []byte) (kind, next string) {
	switch {
	case bytes.HasPrefix(data, []byte("PK\x03\x04")), bytes.HasPrefix(data, []byte("\xD0\xCF\x11\xE0")):
		return "a workbook of Excel", `save it there as "CSV UTF-8"`
	case bytes.HasPrefix(data, []byte("%PDF-")):
		return "a PDF", "copy its table into a spreadsheet, and save that as CSV"
	}
	return "", ""
}

// detect finds an encoding out: by its mark, by the zero bytes that Latin text has in UTF-16, by being valid UTF-8, and else
// by what the bytes above ASCII look like.
func detect(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte{0xEF, 0xBB, 0xBF}):
		return utf8Name
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}):
		return utf16LE
	case bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		return utf16BE
	}
	even, odd := zeros(data)
	switch {
	case odd > 8*even && odd > len(data)/20:
		return utf16LE
	case even > 8*odd && even > len(data)/20:
		return utf16BE
	case utf8.Valid(data):
		return utf8Name
	case looksChinese(data):
		return gb18030
	}
	return windows1252
}

func zeros(data []byte) (even, odd int) {
	for i, b := range data {
		if b == 0 && i%2 == 0 {
			even++
		} else if b == 0 {
			odd++
		}
	}
	return even, odd
}

// looksChinese weighs the runs of bytes above ASCII. In GB18030 they come in pairs, and the first byte of the common characters
// and signs is A1 to D7 (GB/T 2312, level 1); in Windows-1252 a letter with a mark or a degree sign mostly stands alone.
func looksChinese(data []byte) bool {
	chinese, western := 0, 0
	for i := 0; i < len(data); {
		if data[i] < 0x80 {
			i++
			continue
		}
		end := i
		for end < len(data) && data[end] >= 0x80 {
			end++
		}
		if (end-i)%2 == 1 {
			western++
		}
		for ; i+1 < end; i += 2 {
			if data[i] >= 0xA1 && data[i] <= 0xD7 && data[i+1] >= 0xA1 {
				chinese++
			} else {
				western++
			}
		}
		i = end
	}
	return chinese > western
}
