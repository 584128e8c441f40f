package provider

// observed has what is known about new content of the provider's files. It is needed
// only if the provider in use cannot load this content by itself.
type observed struct {
	leads bool   // the provider in use has been initialised and cannot be replaced
	tried answer // the answer of a separate process
	made  answer // the answer of this process
}

// answer is the answer to the question whether a provider can be made from the new content, as far as that is
// known.
type answer int

const (
	unasked answer = iota
	accepted
	rejected
	unable // no separate process could be started
)

type action int

const (
	refuse  action = iota // keep the former content
	try                   // make a provider in a separate process
	create                // make a provider here
	replace               // use the provider that was made here
	end                   // end the process so that it is started again
)

// plan is the next step, with the reason.
type plan struct {
	do  action
	why string
}

// decide returns the next step. A leader ends only if a provider was made from the
// new content. That provider is made by another process with the same arguments, or
// by this process if no other can be started. A factory refuses if the content is
// wrong or the cloud is down. In both cases, a new process would not start either.
func decide(o observed) plan {
	switch {
	case o.tried == accepted:
		return plan{end, "a separate process has made the provider"}
	case o.tried == rejected:
		return plan{refuse, "a separate process could not make the provider"}
	case o.leads && o.tried == unasked:
		return plan{try, "the provider in use cannot be replaced, and its factory may work once in a process"}
	case o.made == unasked:
		return plan{create, "the factory may work again in this process"}
	case o.made == accepted && o.leads:
		return plan{end, "this process has made a provider, and the next one can use it"}
	case o.made == accepted:
		return plan{replace, "the provider in use has not been initialised"}
	case o.tried == unasked:
		return plan{try, "the factory may work once in a process"}
	default:
		return plan{refuse, "this process could not make the provider, and no other could be asked"}
	}
}
