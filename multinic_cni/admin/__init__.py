"""What people do on a node beside the calls of runtimes: look, free, mend, take over."""
