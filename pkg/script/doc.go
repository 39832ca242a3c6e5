// Package script runs scripts of VNF packages on this node, bounded and, with bubblewrap, confined.
//
// A script is started as in OpenStack Tacker: `python3 <package>/<script>` with a pickle of one value on standard
// input. Exit status 0 is success; anything else is a failure, with the text of standard error as the reason. The input
// is passed through standard input only. Values whose names mark them as secrets are masked in stored and shown output.
//
// A script in any language is a [Program]: the same input and result are JSON.
//
// A run has a key. It lives in the background of this process and dies with it. A caller polls it ([Runner.Follow]); a
// run that is no longer polled is killed. After the death of a node the script is started again, because only the
// script knows how far it got.
package script
