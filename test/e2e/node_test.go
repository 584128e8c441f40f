package e2e

const (
	labelExclude = "fairlead.dev/exclude"
	labelRecord  = "fairlead.dev/cloud-labels" // an annotation
)
