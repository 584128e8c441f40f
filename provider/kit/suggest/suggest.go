// Package suggest finds the word that a mistyped word probably stands for. It
// imports nothing but the standard library.
package suggest

import (
	"slices"
	"strings"
)

// distance is the largest number of wrong, added or missing letters.
const distance = 2

// Near returns the known words that are closest to the word. At most two letters may
// differ. In a word with fewer than four letters, at most half of the letters may
// differ. Case is ignored.
func Near(word string, known []string) (near []string) {
	best := min(distance, len(word)/2)
	for _, candidate := range known {
		switch d := edits(strings.ToLower(word), strings.ToLower(candidate)); {
		case d > best:
		case d < best:
			best, near = d, []string{candidate}
		default:
			near = append(near, candidate)
		}
	}
	return near
}

// Question returns the end of a message: "; did you mean a or b?". It returns
// "" if there is no word to suggest.
func Question(meant []string) string {
	if len(meant) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(meant, " or ") + "?"
}

// edits returns the number of letters that have to be inserted, removed or replaced
// to turn a into b. This is the Levenshtein distance.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := slices.Clone(row)
		row[0] = i + 1
		for j := range len(b) {
			replaced := before[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, before[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
