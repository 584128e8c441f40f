package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// File is the path of the log that the API server writes.
type File string

// End returns the length of the log. Requests that have already been answered are before
// this position.
func (f File) End() (int64, error) {
	info, err := os.Stat(string(f))
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Since returns the requests that were written to the log after the mark. It leaves out
// requests that the API server had received before the mark: a test can see the effect of
// a request, and call End, before the request is written to the log.
func (f File) Since(mark int64) (Requests, error) {
	file, err := os.Open(string(f))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // an error does not matter: the file was only read
	marked, err := timeAt(file, mark)
	if err != nil {
		return nil, err
	}
	// The mark may be in the middle of a line. That line began before the mark, so
	// it is skipped.
	if _, err := file.Seek(max(mark-1, 0), io.SeekStart); err != nil {
		return nil, err
	}
	reader := bufio.NewReader(file)
	if mark > 0 {
		_, _ = reader.ReadBytes('\n') // If the line has no end yet, the next read returns io.EOF.
	}
	all, err := parse(reader)
	return slices.DeleteFunc(all, func(r Request) bool { return r.Time.Before(marked) }), err
}

// maxLine is longer than most lines of the log.
const maxLine = 256 << 10

// compared is the number of lines whose times timeAt compares. One line is not enough,
// because the API server does not always write the lines in the order of its answers.
const compared = 20

// timeAt compares the last lines before the mark, and returns the latest time at which
// one of their requests was answered. It returns the zero time if there is no line, or if
// the last line is longer than maxLine.
func timeAt(file *os.File, mark int64) (time.Time, error) {
	from := max(mark-maxLine, 0)
	before := make([]byte, mark-from)
	if _, err := file.ReadAt(before, from); err != nil {
		return time.Time{}, err
	}
	lines := bytes.Split(before[:bytes.LastIndexByte(before, '\n')+1], []byte("\n"))
	var latest time.Time
	for _, line := range lines[max(len(lines)-1-compared, 0):] {
		var r struct {
			Answered time.Time `json:"stageTimestamp"`
		}
		_ = json.Unmarshal(line, &r) // an error means that the line is empty, or that only its end was read
		if r.Answered.After(latest) {
			latest = r.Answered
		}
	}
	return latest, nil
}

func parse(log *bufio.Reader) (Requests, error) {
	var all Requests
	for {
		line, err := log.ReadBytes('\n')
		if err == io.EOF { // The last line may be half written.
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		var r Request
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("audit log: %w: %s", err, line)
		}
		all = append(all, r)
	}
}
