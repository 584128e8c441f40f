package audit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// File is the path of the log that the API server writes.
type File string

// End returns the end of the log. Whoever has got the answer to a request
// finds the request before it.
func (f File) End() (int64, error) {
	info, err := os.Stat(string(f))
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// Since returns the requests that were written after the mark.
func (f File) Since(mark int64) (Requests, error) {
	file, err := os.Open(string(f))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	// The mark may be within a line, which began before it.
	if _, err := file.Seek(max(mark-1, 0), io.SeekStart); err != nil {
		return nil, err
	}
	reader := bufio.NewReader(file)
	if mark > 0 {
		_, _ = reader.ReadBytes('\n') // If there is no end yet, the next read says so.
	}
	return parse(reader)
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
