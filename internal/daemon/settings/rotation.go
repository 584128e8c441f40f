package settings

import (
	"fmt"
	"time"

	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/internal/daemon/provider"
)

const flagWatchFiles = "cloud-config-watch"

// Rotation has the settings for the watch of the provider's files.
type Rotation struct {
	provider *Provider
	files    []string
	period   time.Duration
}

func (r *Rotation) addFlags(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet("generic")
	fs.StringSliceVar(&r.files, flagWatchFiles, r.files,
		"More files of the provider, or folders with such files, that are watched like --cloud-config. When one changes, a provider that can reload takes the new content. "+
			"With any other provider the process releases its lease and ends, to be started again. If --cloud-config is in a mounted Secret or ConfigMap, the files beside it are watched, too.")
	fs.DurationVar(&r.period, flagWatchFiles+"-period", r.period,
		"How often the files of --cloud-config and --cloud-config-watch are checked. 0 turns it off.")
	deviates(fs, "cloud-config", "The file is watched, see --"+flagWatchFiles+". Upstream reads it once.")
}

func (r *Rotation) validate() []error {
	if r.period < 0 {
		return []error{fmt.Errorf("--%s-period must not be negative, but got %v", flagWatchFiles, r.period)}
	}
	if r.period == 0 {
		return nil
	}
	if _, err := provider.Fingerprint(r.files); err != nil {
		return []error{fmt.Errorf("--%s: %w", flagWatchFiles, err)}
	}
	return nil
}

// Period returns the time between two checks of the files.
func (r *Rotation) Period() time.Duration { return r.period }

func (*Rotation) show(*configuration) {}

// Watched returns the files and folders to check. It returns none if checks are off.
func (r *Rotation) Watched() []string {
	if r.period == 0 {
		return nil
	}
	watched := r.files
	if r.provider.ConfigFile != "" {
		watched = append([]string{provider.VolumeOf(r.provider.ConfigFile)}, watched...)
	}
	return watched
}
