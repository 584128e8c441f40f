package settings

import (
	"errors"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/component-base/featuregate"

	"github.com/fairlead-k8s/fairlead/internal/printable"
)

// Verdict says what the daemon does with an argument.
type Verdict string

// The verdicts. The daemon does not start if an argument is Unknown or Refused.
const (
	Used           Verdict = "used"
	ChangesNothing Verdict = "changes nothing" // accepted, so that manifests keep working
	Deprecated     Verdict = "deprecated"      // used nevertheless
	Unknown        Verdict = "unknown"
	Refused        Verdict = "refused"
)

// Judgement says what the daemon does with one argument of a command line.
type Judgement struct {
	// Argument is the argument as it was given, without secrets. For a missing flag
	// it is the name of the flag.
	Argument string  `json:"argument"`
	Verdict  Verdict `json:"verdict"`
	// Why is the reason. If the daemon does not start with the argument, Why is the
	// daemon's own message.
	Why string `json:"why,omitempty"`

	flag string // name; empty if there is no such flag
	hide hider  // of the value
}

// Starts reports whether the daemon starts with the argument.
func (j Judgement) Starts() bool { return j.Verdict != Unknown && j.Verdict != Refused }

// IsOfFlag reports whether the argument is a flag. Otherwise it is a word or a
// missing flag.
func (j Judgement) IsOfFlag() bool { return j.flag != "" || j.Verdict == Unknown }

// isOpen reports whether the value refers to a variable that only the kubelet
// replaces. In that case, the value is not known here.
func (j Judgement) isOpen() bool { return strings.Contains(j.Argument, fromEnvironment) }

// Judge returns a judgement for each argument of a command line, in order, and then
// one for each missing flag. It does not report a file as missing or unreadable,
// because the command line is probably for another machine. The caller must have
// added the flags. Afterwards the flags have the values from the command line. A
// flag that was set before, for example by the program, keeps its value, because a
// second value might be refused.
func (s *Settings) Judge(args []string) []Judgement {
	s.flags.SetOutput(io.Discard) // pflag would print that a flag is deprecated
	set := map[string]bool{}
	s.flags.VisitAll(func(f *pflag.Flag) { set[f.Name] = f.Changed })
	var all []Judgement
	for _, words := range s.arguments(args) {
		all = append(all, s.judge(words, set))
	}
	unknown := unknownValues(all)
	s.ApplyDefaults()
	for _, ignored := range s.Ignored() { // The effect of a flag can depend on other flags.
		for i := range all {
			if "--"+all[i].flag == ignored.Flag && all[i].Starts() && !all[i].isOpen() {
				all[i].Verdict, all[i].Why = ChangesNothing, ignored.Why
			}
		}
	}
	for _, err := range s.wrongValues() {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			continue
		}
		all = refused(all, unknown, err)
	}
	s.explainRoutes(all)
	for i := range all {
		all[i].Argument, all[i].Why = shownArgument(all[i].Argument, all[i].hide), printable.WithoutSecrets(all[i].Why)
	}
	return all
}

// explainRoutes says so if the route controller does not run because of --cluster-cidr.
func (s *Settings) explainRoutes(all []Judgement) {
	err := s.Route.misconfigured()
	if err == nil || !s.Controllers.Runs(RouteController) {
		return
	}
	for i := range all {
		if all[i].flag == flagClusterCIDR && all[i].Verdict == Used && !all[i].isOpen() {
			all[i].Why = "The daemon starts, but its route controller does not run: " + err.Error() + "."
		}
	}
}

// unknownValues returns the flags whose values are not known, because only the
// kubelet knows them or because they cannot be parsed. The values that these flags
// have here, such as their defaults, are not those of the daemon.
func unknownValues(all []Judgement) map[string]bool {
	unknown := map[string]bool{}
	for _, j := range all {
		if j.isOpen() || !j.Starts() {
			unknown[j.flag] = true
		}
	}
	return unknown
}

// flagNamed matches the name of a flag in an error.
var flagNamed = regexp.MustCompile(`--([a-z0-9-]+)`)

// refused adds an error to the judgements of the first flag that the error names. The
// error keeps the daemon from starting. If it names a flag whose value is not known,
// refused ignores it.
func refused(all []Judgement, unknown map[string]bool, err error) []Judgement {
	var names []string
	for _, m := range flagNamed.FindAllStringSubmatch(err.Error(), -1) {
		names = append(names, m[1])
	}
	if slices.ContainsFunc(names, func(name string) bool { return unknown[name] }) {
		return all
	}
	name := strings.Join(names[:min(1, len(names))], "")
	found := false
	for i := range all {
		if all[i].flag != name {
			continue
		}
		if found = true; all[i].Starts() {
			all[i].Verdict, all[i].Why = Refused, err.Error()
		}
	}
	if !found {
		all = append(all, Judgement{Argument: "--" + name, Verdict: Refused, Why: err.Error(), hide: printable.WithoutSecrets})
	}
	return all
}

// arguments splits a command line into arguments. Each argument has one word, or two
// words if the second is the value of a flag.
func (s *Settings) arguments(args []string) (all [][]string) {
	for len(args) > 0 {
		n := 1
		if len(args) > 1 && s.takesNext(args[0], args[1]) {
			n = 2
		}
		if args[0] != "" { // the daemon itself also skips an empty argument
			all = append(all, args[:n])
		}
		args = args[n:]
	}
	return all
}

// takesNext reports whether the next word is the value of a flag. A word after an
// unknown flag counts as its value, unless the word begins with "-".
func (s *Settings) takesNext(word, next string) bool {
	name, isLong := strings.CutPrefix(word, "--")
	if !strings.HasPrefix(word, "-") || strings.Contains(word, "=") || name == "" {
		return false
	}
	var f *pflag.Flag
	switch {
	case isLong:
		f = s.flags.Lookup(name)
	case len(word) == 2:
		f = s.flags.ShorthandLookup(word[1:])
	default:
		return false // -v2
	}
	if f == nil {
		return !strings.HasPrefix(next, "-")
	}
	return f.NoOptDefVal == ""
}

// fromEnvironment is the beginning of a reference to a variable that the kubelet
// replaces.
const fromEnvironment = "$("

// judge returns what the daemon does with one argument, and sets its flag. If the map
// has true for the name of the flag, the flag keeps its value.
func (s *Settings) judge(words []string, set map[string]bool) Judgement {
	j := Judgement{Argument: strings.Join(words, " "), Verdict: Used, hide: printable.WithoutSecrets}
	if !strings.HasPrefix(words[0], "-") {
		j.Verdict, j.Why = Refused, "the daemon takes flags only; a flag that is true or false needs =, as in --node-deletion=false"
		return j
	}
	name, _, _ := strings.Cut(strings.TrimLeft(words[0], "-"), "=")
	f := s.flags.Lookup(name)
	if f == nil && !strings.HasPrefix(words[0], "--") && name != "" {
		f = s.flags.ShorthandLookup(name[:1])
	}
	switch {
	case f != nil:
		j.flag, j.hide = f.Name, hiderOf(f)
	case isNamedAsSecret(name, ""): // the type of an unknown flag is not known
		j.hide = hideAll
	}
	if f == nil || !j.isOpen() && !set[f.Name] {
		if err := s.flags.Parse(words); err != nil {
			return j.failed(Explain(err, s.flags))
		}
	}
	if f == nil {
		return j
	}
	return j.described(f)
}

// failed returns the judgement of an argument that cannot be parsed.
func (j Judgement) failed(err error) Judgement {
	j.Verdict, j.Why = Refused, err.Error()
	if _, ok := errors.AsType[*pflag.NotExistError](err); ok {
		j.Verdict = Unknown
	}
	return j
}

// described returns the judgement of an accepted flag. It adds what a user should
// know about the flag.
func (j Judgement) described(f *pflag.Flag) Judgement {
	if why := f.Annotations[annotationIgnored]; why != nil {
		j.Verdict, j.Why = ChangesNothing, why[0]
		return j
	}
	if f.Deprecated != "" {
		j.Verdict, j.Why = Deprecated, f.Deprecated
		return j
	}
	if how := f.Annotations[annotationDeviation]; how != nil && !strings.HasPrefix(how[0], "Upstream:") { // the text after "Upstream:" is only about the default
		j.Why = how[0]
	}
	switch {
	case j.isOpen():
		j.Why = "the kubelet fills in its value, which is not checked here"
	case f.Name == "leader-elect" && f.Value.String() == "false":
		j.Why = withoutLease
	case f.Name == flagGates:
		return j.ofGates()
	}
	return j
}

// withoutLease is the advice for --leader-elect=false. Two daemons without a Lease
// do not wait for each other.
const withoutLease = "No Lease is held: end the old daemon before the new one starts, and run one replica, with the strategy Recreate. Without this flag the daemon takes a Lease."

// ofGates returns the judgement of --feature-gates. If some gates have no effect, but
// not all, the judgement names those without effect.
func (j Judgement) ofGates() Judgement {
	var idle []string
	all := 0
	for gate := range strings.SplitSeq(j.value(), ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(gate), "=")
		if name == "" {
			continue
		}
		if all++; slices.Contains(gatesWithoutEffect, featuregate.Feature(name)) {
			idle = append(idle, name)
		}
	}
	switch {
	case len(idle) == 0:
	case len(idle) == all:
		j.Verdict, j.Why = ChangesNothing, "Accepted, so that manifests keep working."
	default:
		j.Why = "Some of these gates change nothing: " + strings.Join(idle, ", ") + "."
	}
	return j
}

// value returns the value in the argument. The argument must be a flag with a value.
func (j Judgement) value() string { return j.Argument[strings.IndexAny(j.Argument, "= ")+1:] }
