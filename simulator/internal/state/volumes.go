package state

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// disk is a volume as the cloud stores it.
type disk struct {
	wire.Volume

	Created time.Time `json:"created"`
}

func (d disk) identity() identity { return identity{id: d.ID, name: d.Name, created: d.Created} }

// CreateVolume creates a volume.
func (s *Store) CreateVolume(ctx context.Context, wanted wire.Volume) (wire.Volume, error) {
	if wanted.ID != "" {
		return wanted, input.Invalid("id", "must be empty; the cloud sets it")
	}
	if len(wanted.Zones) == 0 {
		wanted.Zones = []string{defaultZone}
	}
	if wanted.Region == "" {
		wanted.Region = defaultRegion
	}
	wanted, err := checkedVolume(wanted)
	if err != nil {
		return wanted, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.settle(ctx)
	wanted.ID = s.Volumes.nextID()
	if err := s.Volumes.checkName(wanted.ID, wanted.Name); err != nil {
		return wanted, err
	}
	return s.Volumes.add(ctx, now, &disk{Volume: wanted, Created: now})
}

// DeleteVolume deletes a volume.
func (s *Store) DeleteVolume(ctx context.Context, id string, v Distortions) (wire.Volume, error) {
	return s.Volumes.remove(ctx, id, v, func(*disk) error { return nil })
}

// checkedVolume checks a volume and returns it in its stored form.
func checkedVolume(v wire.Volume) (wire.Volume, error) {
	if err := input.CheckWord("name", v.Name); err != nil {
		return v, err
	}
	if err := input.CheckWord("region", v.Region); err != nil {
		return v, err
	}
	if len(v.Zones) == 0 {
		return v, input.Invalid("zones", "must not be empty")
	}
	for n, zone := range v.Zones {
		field := fmt.Sprintf("zones[%d]", n)
		if err := input.CheckWord(field, zone); err != nil {
			return v, err
		}
		if strings.Contains(zone, "__") {
			return v, input.Invalid(field, "%q must not contain two underscores, which separate the zones of a volume in labels", zone)
		}
	}
	v.Zones = slices.Clone(v.Zones)
	slices.Sort(v.Zones)
	v.Zones = slices.Compact(v.Zones)
	return v, nil
}

func checkSavedVolume(d *disk) (err error) {
	d.Volume, err = checkedVolume(d.Volume)
	return err
}
