"""What the cluster's metadata shall become: decisions over the image, written as records.

Each module decides on one subject, purely: an image and a request in, records and a reply out.
`controller` is the only one that waits, appends to the quorum and looks at the clock it is given.
"""
