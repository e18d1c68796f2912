// Package damage makes broken files of whole ones, for tests of whatever parses: files cut anywhere ([Cuts]), and files with bits flipped
// ([Flips]), of which every second one has its checksums made right again ([Repair]), so that the damage is not found at the door.
//
// What is made depends on the file and the number of it alone. How many are tried is [Count]: few in every test run, ten
// thousand of each with SPDL_FAULT_LONG=1, any number with SPDL_DAMAGE. [PeakBytes] is what memory a bomb took.
package damage
