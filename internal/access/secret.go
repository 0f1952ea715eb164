package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// A secret is "capd_" and 56 characters of base32 (RFC 4648, section 6, in lower case): 32 random bytes, then the first 3
// bytes of their SHA-256, by which a slip in copying is told from a token nobody issued.
const (
	secretPrefix = "capd_"
	randomBytes  = 32
	sumBytes     = 3
	secretLength = len(secretPrefix) + (randomBytes+sumBytes)*8/5
)

// digest is the SHA-256 of a whole secret: all that is kept of it. The secret is random, so it needs no salt and no slow hash.
type digest = [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

func encoding() *base32.Encoding {
	return base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
}

func newSecret() string {
	raw := make([]byte, randomBytes, randomBytes+sumBytes)
	rand.Read(raw) // never fails, crypto/rand
	sum := sha256.Sum256(raw)
	return secretPrefix + encoding().EncodeToString(append(raw, sum[:sumBytes]...))
}

// newID makes the public name of a token: 8 characters.
func newID() string {
	raw := make([]byte, 5)
	rand.Read(raw) // never fails, crypto/rand
	return encoding().EncodeToString(raw)
}

// wellFormed reports whether a text could be a secret that Create gave out. It need not be one.
func wellFormed(secret string) bool {
	text, ok := strings.CutPrefix(secret, secretPrefix)
	if !ok || len(secret) != secretLength {
		return false
	}
	raw, err := encoding().DecodeString(text)
	if err != nil || len(raw) != randomBytes+sumBytes {
		return false
	}
	sum := sha256.Sum256(raw[:randomBytes])
	return string(sum[:sumBytes]) == string(raw[randomBytes:])
}
