package lcm

// Part returns the operation as it concerns a part of the VNF, such as the VDUs of one connection: with records that
// show the part alone. Its steps are steps of the phase, and what it forgets is forgotten with the tick. The records of
// the part are not stored: a driver changes those of the whole operation.
func (w *Execution) Part(op *Operation, i *Instance, now Revision, previous *Revision) *Execution {
	return &Execution{
		Op: op, Instance: i, VNFD: now.VNFD, Flavour: now.Flavour, Package: now.Package, Previous: previous, Log: w.Log,
		Clock: w.Clock, whole: w, claim: w.claim, phase: w.phase, journal: w.journal, commit: w.commit,
		hider: w.hider,
		steps: map[stepKey]*StepRecord{},
	}
}
