package modbus

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"

	"capd/internal/physical"
)

// encoding is how a device writes characters.
type encoding uint8

const (
	encodingUTF8 encoding = iota
	encodingLatin1
	encodingUTF16 // one code unit in each register
	encodingGBK
)

func encodingNames() []string { return []string{"utf-8", "iso-8859-1", "utf-16", "gbk"} }

// textFormat is how a text fills its registers.
type textFormat struct {
	encoding encoding
	blank    bool // what is left is filled with blanks, not with NUL
	sparse   part // highByte or lowByte: one character in each register; whole: two
}

// registers is how many registers hold a text of n bytes.
func (f textFormat) registers(n int) int {
	if f.sparse != whole {
		return n
	}
	return (n + 1) / 2
}

// take takes the bytes of a text out of registers in canonical order.
func (f textFormat) take(registers []byte) []byte {
	if f.sparse == whole {
		return registers
	}
	out := make([]byte, len(registers)/2)
	for i := range out {
		out[i] = registers[2*i+f.offset()]
	}
	return out
}

// put arranges the bytes of a text in registers in canonical order.
func (f textFormat) put(registers, text []byte) {
	if f.sparse == whole {
		copy(registers, text)
		return
	}
	for i, b := range text {
		registers[2*i+f.offset()] = b
	}
}

func (f textFormat) offset() int {
	if f.sparse == lowByte {
		return 1
	}
	return 0
}

// decode ends a text at the first NUL and drops trailing blanks.
func (f textFormat) decode(raw []byte) decoded {
	text, ok := f.read(raw)
	if !ok {
		return bad(physical.CauseImplausible, "the device sent bytes that are no %s text: % X", encodingNames()[f.encoding], raw)
	}
	text, _, _ = strings.Cut(text, "\x00")
	return decoded{value: physical.TextOf(strings.TrimRight(text, " "))}
}

func (f textFormat) read(raw []byte) (text string, ok bool) {
	switch f.encoding {
	case encodingLatin1:
		runes := make([]rune, len(raw))
		for i, b := range raw {
			runes[i] = rune(b)
		}
		return string(runes), true
	case encodingUTF16:
		units := make([]uint16, len(raw)/2)
		for i := range units {
			units[i] = binary.BigEndian.Uint16(raw[2*i:])
		}
		text = string(utf16.Decode(units))
		return text, !strings.ContainsRune(text, utf8.RuneError)
	case encodingGBK:
		head, _, _ := bytes.Cut(raw, []byte{0})
		out, err := simplifiedchinese.GBK.NewDecoder().Bytes(head)
		return string(out), err == nil && !bytes.ContainsRune(out, utf8.RuneError)
	default:
		head, _, _ := bytes.Cut(raw, []byte{0})
		return string(head), utf8.Valid(head)
	}
}

func (f textFormat) encode(v physical.Value, size int) ([]byte, error) {
	text, isText := v.Text()
	if !isText {
		return nil, fmt.Errorf("string takes a text, not the %s %s", v.Kind(), v)
	}
	raw, ok := f.write(text)
	if !ok {
		return nil, fmt.Errorf("the text %q cannot be written in %s", text, encodingNames()[f.encoding])
	}
	if len(raw) > size || strings.Contains(text, "\x00") {
		return nil, fmt.Errorf("the text has %d bytes; the point takes at most %d, without NUL", len(raw), size)
	}
	fill := []byte{0}
	switch {
	case f.blank && f.encoding == encodingUTF16:
		fill = []byte{0, ' '}
	case f.blank:
		fill = []byte{' '}
	}
	for len(raw)+len(fill) <= size {
		raw = append(raw, fill...)
	}
	return append(raw, make([]byte, size-len(raw))...), nil
}

func (f textFormat) write(text string) (raw []byte, ok bool) {
	switch f.encoding {
	case encodingLatin1:
		for _, r := range text {
			if r > 0xFF {
				return nil, false
			}
			raw = append(raw, byte(r))
		}
		return raw, true
	case encodingUTF16:
		for _, u := range utf16.Encode([]rune(text)) {
			raw = binary.BigEndian.AppendUint16(raw, u)
		}
		return raw, utf8.ValidString(text)
	case encodingGBK:
		raw, err := simplifiedchinese.GBK.NewEncoder().Bytes([]byte(text))
		return raw, err == nil
	default:
		return []byte(text), utf8.ValidString(text)
	}
}
