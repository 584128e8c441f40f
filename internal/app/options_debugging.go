package app

import (
	cliflag "k8s.io/component-base/cli/flag"
	componentbaseconfig "k8s.io/component-base/config"
)

type debuggingOptions struct {
	componentbaseconfig.DebuggingConfiguration
}

func newDebuggingOptions() debuggingOptions {
	return debuggingOptions{componentbaseconfig.DebuggingConfiguration{EnableProfiling: true}}
}

func (d *debuggingOptions) addFlags(sections *cliflag.NamedFlagSets) {
	fs := sections.FlagSet("debugging")
	fs.BoolVar(&d.EnableProfiling, "profiling", d.EnableProfiling,
		"Serve /debug/pprof/ and /debug/flags/v on the secure port.")
	fs.BoolVar(&d.EnableContentionProfiling, "contention-profiling", d.EnableContentionProfiling,
		"Record what goroutines block on. Needs --profiling.")
}

func (*debuggingOptions) validate() []error { return nil }

func (d *debuggingOptions) show(c *configuration) {
	c.Generic.Debugging.EnableProfiling = &d.EnableProfiling
	c.Generic.Debugging.EnableContentionProfiling = &d.EnableContentionProfiling
}
