package conformance

import (
	"encoding/xml"
	"fmt"
	"strconv"
)

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Seconds string        `xml:"time,attr"`
	Failure *junitMessage `xml:"failure"`
	Skipped *junitMessage `xml:"skipped"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit returns the results of the checks in JUnit's XML, for CI systems. A check that
// was not run, or that has failed as expected, is a skipped test.
func (r *Report) JUnit() ([]byte, error) {
	all := junitSuites{Name: "conformance of " + r.Provider.Name}
	for _, p := range r.Profiles {
		suite := junitSuite{Name: string(p.Name), Timestamp: r.Date.UTC().Format("2006-01-02T15:04:05")}
		for _, c := range r.Checks {
			if c.profile() == p.Name {
				suite.add(c)
			}
		}
		all.Tests, all.Failures = all.Tests+suite.Tests, all.Failures+suite.Failures
		all.Suites = append(all.Suites, suite)
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	return append(append([]byte(xml.Header), text...), '\n'), err
}

func (s *junitSuite) add(c CheckResult) {
	test := junitCase{Class: string(c.profile()), Name: c.ID, Seconds: strconv.FormatFloat(c.Seconds, 'f', 2, 64)}
	s.Tests++
	switch {
	case c.counts():
		s.Failures++
		test.Failure = &junitMessage{c.Title, fmt.Sprintf("%s\nThe contract: %s\nWhat it costs: %s", c.Why, c.Source, c.Cost)}
	case c.Outcome == Passed, c.Outcome == Failed:
		test.Output = c.Why
	default:
		s.Skipped++
		test.Skipped = &junitMessage{Message: string(c.Outcome) + ": " + c.Why}
	}
	s.Cases = append(s.Cases, test)
}

// profile returns the profile of the check.
func (c CheckResult) profile() Profile { return Check{ID: c.ID}.Profile() }

// counts reports whether the result counts as a failure. A failure of level Measured
// does not count, because such a check only reports a number.
func (c CheckResult) counts() bool { return c.Outcome == Failed && c.Level != Measured }
