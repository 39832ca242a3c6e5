// Package script runs Python scripts of VNF packages on this node, bounded and, with bubblewrap, confined.
//
// A script is started as OpenStack Tacker starts it: `python3 <package>/<script>` with a pickle of one value on standard input. Exit status 0
// is success; anything else is a failure with what it wrote to standard error as the reason. The input goes through standard input only, and
// the values in it whose names stand for secrets are masked in everything that is kept or shown of a script's output.
//
// A run lives in the background of this process, under a key, and dies with it. Whoever is interested asks now and then ([Runner.Follow]); a
// run that nobody asks about is killed. What a run has done is known to nobody but the script: after the death of a node it is started again.
package script
