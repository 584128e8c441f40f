package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// disk is a volume as the cloud stores it.
type disk struct {
	wire.Volume

	Created time.Time `json:"created"`
}

func (d disk) identity() identity { return identity{id: d.ID, name: d.Name, created: d.Created} }

// Volume returns one volume.
func (s *Store) Volume(ctx context.Context, id string, v Distortions) (wire.Volume, error) {
	d := seen(ctx, s, s.volumes, v, id)
	if d == nil {
		return wire.Volume{}, missing("volume", id)
	}
	return d.Volume, nil
}

// ListVolumes returns a page of volumes. If there are more pages, it also returns
// the last ID on this page.
func (s *Store) ListVolumes(ctx context.Context, q Query, v Distortions) ([]wire.Volume, string) {
	rows, next := page(ctx, s, s.volumes, q, v)
	all := make([]wire.Volume, len(rows))
	for n, d := range rows {
		all[n] = d.Volume
	}
	return all, next
}

// IdentifyVolumes completes a subject: it adds the ID and the name of each volume
// that the subject selects.
func (s *Store) IdentifyVolumes(ctx context.Context, about Subject) Subject {
	return identified(ctx, s, s.volumes, about)
}

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
	if err := s.checkVolume(wanted); err != nil {
		return wanted, err
	}
	s.lastVolume++
	wanted.ID = volumeIDs.id(s.lastVolume)
	if err := commit(s, now, s.volumes, wanted.ID, &disk{Volume: wanted, Created: now}); err != nil {
		s.lastVolume--
		return wanted, err
	}
	klog.FromContext(ctx).Info("Volume created", "volume", wanted.ID, "name", wanted.Name, "zones", wanted.Zones)
	return wanted, nil
}

// DeleteVolume deletes a volume.
func (s *Store) DeleteVolume(ctx context.Context, id string, v Distortions) (wire.Volume, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.settle(ctx)
	d := s.volumes.row(id)
	if d == nil || v.hides(d.identity(), now) {
		return wire.Volume{}, missing("volume", id)
	}
	if err := commit(s, now, s.volumes, id, nil); err != nil {
		return d.Volume, err
	}
	klog.FromContext(ctx).Info("Volume deleted", "volume", id, "name", d.Name)
	return d.Volume, nil
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

// checkVolume checks a new volume against the others. s.mu is held.
func (s *Store) checkVolume(wanted wire.Volume) error {
	for _, other := range s.volumes.rows {
		if other.Name == wanted.Name {
			return conflict(wire.CodeAlreadyExists, "the name %s belongs to volume %s", wanted.Name, other.ID)
		}
	}
	return nil
}

// restorableVolume checks a saved volume and puts it into its stored form. It returns
// an error if the volume is invalid. s.mu is held.
func (s *Store) restorableVolume(d *disk) error {
	if err := restorable(volumeIDs, d.ID, s.lastVolume, s.volumes); err != nil {
		return err
	}
	if d.Created.IsZero() {
		return errors.New("created: is missing")
	}
	checked, err := checkedVolume(d.Volume)
	if err != nil {
		return err
	}
	d.Volume = checked
	return s.checkVolume(checked)
}
