package persistence

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/internal/state"
)

// stateVersion is the version of the files that File writes. File can read
// versions 1 to stateVersion. Version 1 had only instances. Version 2 added
// load balancers and static IPs. Version 3 added routes. Version 4 added
// volumes.
const stateVersion = 4

// document is the content of the file.
type document struct {
	Version int `json:"version"`
	state.Saved
}

// File keeps the state across restarts. Without a path it keeps nothing.
type File struct{ path string }

// At returns the file at a path.
func At(path string) File { return File{path: path} }

// Load returns the saved state; nil if there is no file yet.
func (f File) Load() (*state.Saved, error) {
	if f.path == "" {
		return nil, nil
	}
	content, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("state file: %w", err)
	}
	var saved document
	if err := input.DecodeStrict(content, &saved); err != nil {
		return nil, f.Broken(err)
	}
	if saved.Version < 1 || saved.Version > stateVersion {
		return nil, f.Broken(fmt.Errorf("version is %d, and this simulator reads only versions 1 to %d", saved.Version, stateVersion))
	}
	return &saved.Saved, nil
}

// Broken returns the error for a file that does not contain a valid state.
func (f File) Broken(why error) error {
	return fmt.Errorf("state file %s: %w; mend it, or move it away to start with an empty cloud", f.path, why)
}

// Save replaces the whole file atomically: after a crash it has either the old
// or the new content.
func (f File) Save(saved func() state.Saved) error {
	if f.path == "" {
		return nil
	}
	content, err := json.MarshalIndent(document{Version: stateVersion, Saved: saved()}, "", "  ")
	if err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	if err := f.replace(append(content, '\n')); err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	return nil
}

func (f File) replace(content []byte) error {
	directory := filepath.Dir(f.path)
	temp, err := os.CreateTemp(directory, filepath.Base(f.path)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = temp.Write(content)
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), f.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return syncDirectory(directory)
}

// syncDirectory makes a rename in the directory durable.
func syncDirectory(path string) error {
	directory, err := os.Open(path) //nolint:gosec // the path comes from a flag
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}
