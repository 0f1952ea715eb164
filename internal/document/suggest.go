package document

import "strings"

// longestWord bounds the words that Suggest compares.
const longestWord = 64

// Suggest gives the word of among that is nearest to word, "" when none is near. Case does not count; the first of equally
// near words wins. Near means at most one edit in three characters and at most three, where an edit inserts, removes or
// replaces a character or swaps two neighbours (optimal string alignment distance).
func Suggest(word string, among []string) string {
	from := []rune(strings.ToLower(word))
	if len(from) == 0 || len(from) > longestWord {
		return ""
	}
	best, nearest := "", min(len(from)/3, 3)+1
	for _, candidate := range among {
		to := []rune(strings.ToLower(candidate))
		if len(to) > longestWord || abs(len(from)-len(to)) >= nearest {
			continue
		}
		if d := distance(from, to); d < nearest {
			best, nearest = candidate, d
		}
	}
	return best
}

func abs(n int) int { return max(n, -n) }

// distance is the optimal string alignment distance, computed row by row.
func distance(a, b []rune) int {
	before, previous, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := range a {
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(previous[j+1]+1, row[j]+1, previous[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, previous, row = previous, row, before
	}
	return previous[len(b)]
}
