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

// End returns the length of the log. A request that was already answered is
// before this position.
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
	defer func() { _ = file.Close() }() // an error does not matter: the file was only read
	// The mark may be in the middle of a line. That line began before the mark, so
	// it is skipped.
	if _, err := file.Seek(max(mark-1, 0), io.SeekStart); err != nil {
		return nil, err
	}
	reader := bufio.NewReader(file)
	if mark > 0 {
		_, _ = reader.ReadBytes('\n') // If the line has no end yet, the next read returns io.EOF.
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
