package app

import (
	"fmt"
	"time"

	cliflag "k8s.io/component-base/cli/flag"
)

const flagWatchFiles = "cloud-config-watch"

// rotationOptions say which files of the provider are followed.
type rotationOptions struct {
	provider *providerOptions
	files    []string
	period   time.Duration
}

func (r *rotationOptions) addFlags(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet("generic")
	fs.StringSliceVar(&r.files, flagWatchFiles, r.files,
		"Further files of the provider, or folders of them, that are followed like --cloud-config: when they change, a provider that can takes the new content, "+
			"and for any other the process hands its lease over and ends. Where --cloud-config lies in a mounted Secret or ConfigMap, the files beside it are followed anyway.")
	fs.DurationVar(&r.period, flagWatchFiles+"-period", r.period,
		"How often those files are looked at. 0 means never.")
	deviates(fs, "cloud-config", "The file is followed, see --"+flagWatchFiles+". Upstream reads it once.")
}

func (r *rotationOptions) validate() []error {
	if r.period < 0 {
		return []error{fmt.Errorf("--%s-period must not be negative, but got %v", flagWatchFiles, r.period)}
	}
	if r.period == 0 {
		return nil
	}
	if _, err := fingerprint(r.files); err != nil {
		return []error{fmt.Errorf("--%s: %w", flagWatchFiles, err)}
	}
	return nil
}

func (*rotationOptions) show(*configuration) {}

// followed are the files and folders to look at, none where nobody looks.
func (r *rotationOptions) followed() []string {
	if r.period == 0 {
		return nil
	}
	followed := r.files
	if r.provider.configFile != "" {
		followed = append([]string{volumeOf(r.provider.configFile)}, followed...)
	}
	return followed
}
