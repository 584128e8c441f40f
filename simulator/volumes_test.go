package simulator

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

func TestVolumes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cloud.json")
	c := start(t, Config{StateFile: file})
	ctx := t.Context()
	first, err := c.CreateVolume(ctx, Volume{Name: "data"})
	diff(t, "error", nil, err)
	diff(t, "created", Volume{ID: "vol-00000001", Name: "data", Zones: []string{"sim-1a"}, Region: "sim-1"}, first)
	wide, err := c.CreateVolume(ctx, Volume{Name: "wide", Zones: []string{"b", "a", "b"}, Region: "north"})
	diff(t, "error", nil, err)
	diff(t, "zones in order", []string{"a", "b"}, wide.Zones)
	got, err := c.Volume(ctx, wide.ID)
	diff(t, "error", nil, err)
	diff(t, "one", wide, got)
	for name, row := range map[string]struct {
		volume Volume
		code   string
		want   string
	}{
		"NoName":       {Volume{}, wire.CodeInvalid, "name: must not be empty"},
		"ID":           {Volume{ID: "x", Name: "x"}, wire.CodeInvalid, "id: must be empty; the cloud sets it"},
		"EmptyZone":    {Volume{Name: "x", Zones: []string{""}}, wire.CodeInvalid, "zones[0]: must not be empty"},
		"ZoneOfTwo":    {Volume{Name: "x", Zones: []string{"a", "b__c"}}, wire.CodeInvalid, `zones[1]: "b__c" must not contain two underscores, which separate the zones of a volume in labels`},
		"RegionOfTwo":  {Volume{Name: "x", Region: "a b"}, wire.CodeInvalid, `region: "a b" must not contain commas, spaces or control characters`},
		"NameThatIsIn": {Volume{Name: "data"}, wire.CodeAlreadyExists, "the name data belongs to volume vol-00000001"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.CreateVolume(ctx, row.volume)
			if code(err) != row.code || !strings.HasSuffix(err.Error(), row.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	diff(t, "error", nil, c.DeleteVolume(ctx, first.ID))
	diff(t, "it is gone", wire.CodeNotFound, code(c.DeleteVolume(ctx, first.ID)))
	_, err = c.Volume(ctx, first.ID)
	diff(t, "it is gone", true, IsNotFound(err))

	after := start(t, Config{StateFile: file})
	all, err := after.Volumes(ctx)
	diff(t, "error", nil, err)
	diff(t, "after a restart", []Volume{wide}, all)
	next, err := after.CreateVolume(ctx, Volume{Name: "data"})
	diff(t, "error", nil, err)
	diff(t, "an ID is never given again", "vol-00000003", next.ID)
}
