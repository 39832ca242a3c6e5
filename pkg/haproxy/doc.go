// Package haproxy changes the configuration of HAProxy on a machine over SSH. A faulty file never replaces the one that
// HAProxy runs with, changes that others make are not lost, and a change that was cut off is finished by the next
// attempt (ADR 054).
package haproxy
