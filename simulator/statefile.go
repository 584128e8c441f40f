package simulator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// stateVersion is written; all versions from 1 on are read. Version 1 had
// instances only, and version 2 no routes.
const stateVersion = 3

// savedState is what the state file holds. Faults, counters and what was true
// in the past are not in it.
type savedState struct {
	Version int `json:"version"`
	// The last ones are the numbers in the IDs that were given last; IDs are
	// never given again.
	LastInstance int        `json:"lastInstance"`
	Instances    []*machine `json:"instances"`

	LastLoadBalancer int         `json:"lastLoadBalancer"`
	LoadBalancers    []*balancer `json:"loadBalancers"`

	LastStaticIP int         `json:"lastStaticIP"`
	StaticIPs    []*reserved `json:"staticIPs"`

	LastRoute int      `json:"lastRoute"`
	Routes    []*Route `json:"routes"`
}

// stateFile keeps the state across restarts. Without a path nothing is kept.
type stateFile struct{ path string }

// load returns nil if there is no file yet.
func (f stateFile) load() (*savedState, error) {
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
	var saved savedState
	if err := decodeStrict(content, &saved); err != nil {
		return nil, f.broken(err)
	}
	if saved.Version < 1 || saved.Version > stateVersion {
		return nil, f.broken(fmt.Errorf("version is %d, and this simulator reads only versions 1 to %d", saved.Version, stateVersion))
	}
	return &saved, nil
}

func (f stateFile) broken(why error) error {
	return fmt.Errorf("state file %s: %w; mend it, or move it away to start with an empty cloud", f.path, why)
}

// restoreAll takes what was saved of one kind, unless it could not have been
// saved.
func restoreAll[T resource](kind string, saved []*T, into *table[T], restorable func(*T) error) error {
	for n, row := range saved {
		if row == nil {
			return fmt.Errorf("%s[%d]: is null", kind, n)
		}
		if err := restorable(row); err != nil {
			return fmt.Errorf("%s[%d]: %w", kind, n, err)
		}
		into.replace((*row).identity().id, row)
	}
	return nil
}

// save replaces the file as a whole: a crash leaves the old or the new one.
func (f stateFile) save(state func() savedState) error {
	if f.path == "" {
		return nil
	}
	content, err := json.MarshalIndent(state(), "", "  ")
	if err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	if err := f.replace(append(content, '\n')); err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	return nil
}

func (f stateFile) replace(content []byte) error {
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
	directory, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}
