"""Our parts in other people's loops, one file for each library. Import the file you need: nothing here loads a library you do not have."""
