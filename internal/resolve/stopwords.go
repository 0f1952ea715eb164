package resolve

import "strings"

// isStopWord tells the few English words that say nothing about a tool:
// articles, pronouns, auxiliaries and the courtesies of a request. on, off, up
// and down are not among them. word is folded and unstemmed.
func isStopWord(word string) bool {
	switch word {
	case "a", "an", "the", "this", "that", "these", "those",
		"i", "me", "my", "we", "us", "our", "you", "your", "it", "its", "they", "their", "them",
		"is", "are", "was", "were", "be", "been", "am", "do", "does", "did", "has", "have", "had",
		"can", "could", "will", "would", "should", "may", "might", "shall",
		"and", "or", "of", "to", "for", "with", "in", "at", "by", "as", "from", "into", "so", "if", "than", "then",
		"there", "here", "what", "which", "who", "how", "please", "want", "need", "like", "also", "just", "some", "any":
		return true
	}
	return false
}

// isParticle tells the Chinese characters that bind words without a meaning of
// their own; pairs across them would be noise.
func isParticle(r rune) bool {
	switch r {
	case '的', '了', '吗', '呢', '吧', '把', '请', '我', '你', '您', '是', '和', '与', '及':
		return true
	}
	return false
}

// isUpper tells an abbreviation (CAN, IT) from the word it is spelt like.
func isUpper(word string) bool {
	return len(word) > 1 && word == strings.ToUpper(word)
}
