package conformance

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
)

// FileLedger is a Ledger in a file. Cleanup reads it. Each line is a JSON object. Lines
// are only appended, and each line is on the disk before Begin or End returns. A
// FileLedger is safe for concurrent use. Several processes can share the file.
type FileLedger struct {
	path string

	mu   sync.Mutex
	file *os.File // guarded by mu
}

var _ Ledger = (*FileLedger)(nil)

// ledgerLine is one line. Exactly one of its fields is set.
type ledgerLine struct {
	// Provider is the provider that has created the things in the following lines.
	Provider string `json:"provider,omitempty"`
	// Account is the account of the things in the following lines.
	Account string `json:"account,omitempty"`
	Begin   *Entry `json:"begin,omitempty"`
	End     *Entry `json:"end,omitempty"`
}

// OpenLedger opens the file for a provider, and creates the file if it does not
// exist. The ledger keeps the entries that earlier runs have left. OpenLedger returns an
// error if the file lists things of another provider.
func OpenLedger(path, provider string) (*FileLedger, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600) //nolint:gosec // the caller names its own file
	if err != nil {
		return nil, err
	}
	l := &FileLedger{path: path, file: file}
	if err := l.claim(provider); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return l, nil
}

// ExistingLedger is like OpenLedger, but returns an error if the file does not
// exist.
func ExistingLedger(path, provider string) (*FileLedger, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	return OpenLedger(path, provider)
}

// claim records that the ledger belongs to the provider. It fails if the ledger
// belongs to another provider.
func (l *FileLedger) claim(provider string) error {
	c, err := l.read()
	switch {
	case err != nil:
		return err
	case c.provider == provider:
		return nil
	case c.provider != "":
		return fmt.Errorf("%s lists what the provider %q has created, and this is %q: use another file", l.path, c.provider, provider)
	}
	return l.append(ledgerLine{Provider: provider})
}

// Claim records that the ledger belongs to an account. It returns an *OtherAccountError
// if the ledger lists things that may still be in another account. It also returns that
// error if the ledger names an account and the argument is empty.
func (l *FileLedger) Claim(account string) error {
	c, err := l.read()
	switch {
	case err != nil:
		return err
	case c.account == account:
		return nil
	case c.account != "" && (len(c.left) > 0 || account == ""):
		return &OtherAccountError{Path: l.path, Ledger: c.account, This: account}
	}
	return l.append(ledgerLine{Account: account})
}

// belongs returns an *OtherAccountError if the ledger names another account. A ledger that
// names no account belongs to every account.
func (l *FileLedger) belongs(account string) error {
	c, err := l.read()
	if err == nil && c.account != "" && c.account != account {
		err = &OtherAccountError{Path: l.path, Ledger: c.account, This: account}
	}
	return err
}

// OtherAccountError is the error for a ledger that lists things of another account.
type OtherAccountError struct {
	Path string
	// Ledger is the account of the ledger, and This is the account in use. The field
	// This is empty if neither the world nor the target names the account.
	Ledger, This string
}

func (e *OtherAccountError) Error() string {
	this := "this is " + e.This
	if e.This == "" {
		this = "the account in use is not known"
	}
	return fmt.Sprintf("%s lists what was created in %s, and %s; nothing was touched. Use the world and the configuration of that run, or another file for a new run", e.Path, e.Ledger, this)
}

// Warnings returns a text for each line that cannot be read because it was cut off.
func (l *FileLedger) Warnings() ([]string, error) {
	c, err := l.read()
	var all []string
	for _, number := range c.cut {
		all = append(all, fmt.Sprintf("%s, line %d: the line was cut off, for example by a loss of power, and is ignored. If it announced a creation, nothing was created; if it ended an entry, the entry is still listed", l.path, number))
	}
	return all, err
}

// Close closes the file.
func (l *FileLedger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}

// Begin implements Ledger.
func (l *FileLedger) Begin(e Entry) error { return l.append(ledgerLine{Begin: &e}) }

// End implements Ledger.
func (l *FileLedger) End(e Entry) error { return l.append(ledgerLine{End: &e}) }

// Left returns the entries that were begun and not ended. The last one comes first.
func (l *FileLedger) Left() ([]Entry, error) {
	c, err := l.read()
	slices.Reverse(c.left)
	return c.left, err
}

// append writes a line and waits until it is on the disk.
func (l *FileLedger) append(line ledgerLine) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// A line break comes first, too. A crash may have cut off the previous line, and the new
	// text would otherwise become a part of that line.
	if _, err := l.file.Write(slices.Concat([]byte("\n"), text, []byte("\n"))); err != nil {
		return err
	}
	return l.file.Sync()
}

// content is the content of a ledger.
type content struct {
	provider, account string
	left              []Entry // begun and not ended
	cut               []int   // lines that were cut off
}

func (l *FileLedger) read() (c content, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.file.Seek(0, io.SeekStart); err != nil {
		return content{}, err
	}
	reader := bufio.NewReader(l.file)
	for number := 1; ; number++ {
		text, err := reader.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return content{}, err
		}
		line, whole, wrong := parseLine(text)
		if wrong != nil {
			return content{}, fmt.Errorf("%s, line %d: %w", l.path, number, wrong)
		}
		if !whole {
			c.cut = append(c.cut, number)
		}
		c.provider, c.account = cmp.Or(line.Provider, c.provider), cmp.Or(line.Account, c.account)
		c.left = line.apply(c.left)
		if err != nil {
			return c, nil
		}
	}
}

// parseLine reads a line and reports whether the line is whole. If the line was cut off,
// parseLine returns an empty line. Nothing was created for such a line, because Begin
// had not returned. After a loss of power, some file systems have zero bytes in place of
// the bytes that were not written yet.
func parseLine(text []byte) (line ledgerLine, whole bool, err error) {
	text = bytes.TrimSpace(text)
	written := bytes.TrimRight(text, "\x00")
	if len(written) == 0 {
		return line, len(text) == 0, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(written))
	decoder.DisallowUnknownFields()
	err = decoder.Decode(&line)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return ledgerLine{}, false, nil
	}
	if err != nil {
		return ledgerLine{}, false, fmt.Errorf("this is no line of a ledger: %w", err)
	}
	return line, true, nil
}

// apply returns the entries that are begun and not ended after this line. If the line
// begins an entry, apply adds that entry. If the line ends an entry, apply removes that
// entry.
func (line ledgerLine) apply(left []Entry) []Entry {
	for _, e := range []*Entry{line.Begin, line.End} {
		if e != nil {
			left = slices.DeleteFunc(left, e.replaces)
		}
	}
	if line.Begin != nil {
		left = append(left, *line.Begin)
	}
	return left
}

// replaces reports whether an entry is about the same thing as an earlier entry.
// Foreign resources of two runs may have the same name, but not the same ID.
func (e Entry) replaces(earlier Entry) bool {
	return earlier.key() == e.key() && (!e.Foreign || earlier.ID == "" || earlier.ID == e.ID)
}

// key returns a key that is the same for all entries about one thing.
func (e Entry) key() string {
	return fmt.Sprintf("%s\n%s\n%s\n%t\n%t", e.Kind, e.Cluster, e.Name, e.Twin, e.Foreign)
}

// String names the thing.
func (e Entry) String() string {
	text := fmt.Sprintf("%s %s", e.Kind, e.Name)
	if e.Foreign {
		text = "foreign " + text
	}
	if e.Service != nil {
		text = fmt.Sprintf("%s of Service %s/%s with UID %s", e.Kind, e.Service.Namespace, e.Service.Name, e.Name)
	}
	if e.ID != "" && e.ID != e.Name {
		text += " with ID " + e.ID
	}
	if e.Cluster != "" && e.Kind != KindMachine && e.Kind != KindAddress && !e.Foreign {
		text += " of cluster " + e.Cluster
	}
	return strings.TrimSpace(text)
}
