// Package process protects the memory and the descriptors of this process: other programs must not read the keys that
// it holds, and must not inherit its files.
package process
