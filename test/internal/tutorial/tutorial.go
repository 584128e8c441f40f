// Package tutorial applies the changes of a tutorial page to a project that "fairlead
// new" has written.
package tutorial

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Block is one code block of a page.
type Block struct {
	// File is the text of the comment before the block: a file of the project, or the test
	// that runs the commands.
	File string
	// Language is "go" for a part of a new file, "diff" for a change of a file, "sh" for
	// commands, and "text" for the output of a command.
	Language string
	Text     string
}

// block is a code block with the comment before it.
var block = regexp.MustCompile("(?m)^(?:<!-- (.+) -->\n)?```(\\w+)\n((?s:.*?))^```$")

// Blocks returns all code blocks of a page, in order.
func Blocks(page string) ([]Block, error) {
	var all []Block
	for _, b := range block.FindAllStringSubmatch(page, -1) {
		all = append(all, Block{File: b[1], Language: b[2], Text: b[3]})
	}
	if marks := strings.Count(page, "```"); len(all) == 0 || marks != 2*len(all) {
		return nil, fmt.Errorf("found %d code blocks, and %d marks where they begin and end", len(all), marks)
	}
	return all, nil
}

// Apply applies the blocks to a project. The map files has the text of each file by its
// path. A "go" block begins a new file, or continues a file that an earlier block has
// begun. A "diff" block changes a file at the only place where the diff fits.
func Apply(files map[string]string, blocks []Block) error {
	var begun []string
	for _, b := range blocks {
		before, exists := files[b.File]
		switch {
		case b.Language == "go" && slices.Contains(begun, b.File):
			files[b.File] = before + "\n" + b.Text
		case b.Language == "go" && exists:
			return fmt.Errorf("%s exists already: its block must be a diff", b.File)
		case b.Language == "go":
			begun = append(begun, b.File)
			files[b.File] = b.Text
		case b.Language == "diff":
			after, err := patched(before, b.Text)
			if err != nil {
				return fmt.Errorf("%s: %w", b.File, err)
			}
			files[b.File] = after
		}
	}
	return nil
}

// patched applies the lines of a diff. It removes each line that begins with a minus,
// adds each line that begins with a plus, and keeps the other lines.
func patched(text, diff string) (string, error) {
	var before, after strings.Builder
	for line := range strings.Lines(diff) {
		mark, rest := " ", strings.TrimPrefix(line, " ")
		if line[0] == '-' || line[0] == '+' {
			mark, rest = line[:1], line[1:]
		}
		if mark != "+" {
			before.WriteString(rest)
		}
		if mark != "-" {
			after.WriteString(rest)
		}
	}
	if n := strings.Count(text, before.String()); n != 1 {
		return "", fmt.Errorf("this is there %d times and not once:\n%s", n, before.String())
	}
	return strings.Replace(text, before.String(), after.String(), 1), nil
}
