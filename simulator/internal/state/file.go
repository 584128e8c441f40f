package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// fileVersion is the version of the state file. Files of other versions are refused.
const fileVersion = 5

// document is the content of the state file. Faults, counters and past changes are not
// kept.
type document struct {
	Version       int               `json:"version"`
	Instances     saved[machine]    `json:"instances"`
	LoadBalancers saved[balancer]   `json:"loadBalancers"`
	StaticIPs     saved[reserved]   `json:"staticIPs"`
	Routes        saved[wire.Route] `json:"routes"`
	Volumes       saved[disk]       `json:"volumes"`
}

// load restores the resources of the state file, if there is one.
func (s *Store) load() error {
	if s.config.File == "" {
		return nil
	}
	content, err := os.ReadFile(s.config.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	d, err := input.Decode[document](content)
	if err == nil {
		err = s.restore(d)
	}
	if err != nil {
		return fmt.Errorf("state file %s: %w; mend it, or move it away to start with an empty cloud", s.config.File, err)
	}
	return nil
}

func (s *Store) restore(d document) error {
	if d.Version != fileVersion {
		return fmt.Errorf("version is %d, and this simulator reads only version %d", d.Version, fileVersion)
	}
	for _, restore := range []func() error{
		func() error { return s.Instances.restore(d.Instances, checkSavedInstance) },
		func() error { return s.StaticIPs.restore(d.StaticIPs, checkSavedStaticIP) },
		func() error { return s.LoadBalancers.restore(d.LoadBalancers, s.checkSavedBalancer) },
		func() error { return s.Routes.restore(d.Routes, s.checkSavedRoute) },
		func() error { return s.Volumes.restore(d.Volumes, checkSavedVolume) },
	} {
		if err := restore(); err != nil {
			return err
		}
	}
	s.expectMoves()
	return nil
}

// save replaces the whole state file atomically: after a crash it has either the old or
// the new content. s.mu is held.
func (s *Store) save() error {
	if s.config.File == "" {
		return nil
	}
	content, err := json.MarshalIndent(document{
		Version: fileVersion, Instances: s.Instances.save(), LoadBalancers: s.LoadBalancers.save(),
		StaticIPs: s.StaticIPs.save(), Routes: s.Routes.save(), Volumes: s.Volumes.save(),
	}, "", "  ")
	if err == nil {
		err = replaceFile(s.config.File, append(content, '\n'))
	}
	if err != nil {
		return fmt.Errorf("state file: %w", err)
	}
	return nil
}

func replaceFile(path string, content []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = temp.Write(content)
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}
