package supervisor

import (
	"io"
	"os"
	"strings"
)

const (
	tailBytes = 16 << 10
	tailLines = 20
)

// tail returns the last lines of a log. If the log cannot be read, tail returns the text of the
// error instead. It does not return an error, because the caller is about to report a more
// important one.
func tail(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		_, _ = f.Seek(-tailBytes, io.SeekEnd) // an error does not matter: then the whole file is read
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	return lastLines(string(text), tailLines)
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
