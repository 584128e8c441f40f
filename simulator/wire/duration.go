package wire

import (
	"fmt"
	"time"
)

// Duration is a time.Duration that is written in Go's notation, such as
// "1m30s".
type Duration time.Duration

// String returns the duration in Go's notation.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 30ms or 1m", text)
	}
	*d = Duration(parsed)
	return nil
}
